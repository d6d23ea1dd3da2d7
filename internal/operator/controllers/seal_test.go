package controllers

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// runs returns a cluster on which the children of "one" are made and known.
func runs(t *testing.T, manifest string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.apply(manifest)
	c.apply(app)
	c.settle()
	return c
}

// forge puts a copy of a child there under another name: it has all that can be read, the managers of its fields included.
func (c *cluster) forge(child, name string) *unstructured.Unstructured {
	c.t.Helper()
	o := c.get("configmaps", child).DeepCopy()
	o.SetName(name)
	o.SetUID("forged")
	o.Object["data"] = map[string]any{"text": "forged"}
	c.Store(configMap(name), o)
	c.deliver()
	return o.DeepCopy()
}

// strip takes seals off children, as somebody does who may write them.
func (c *cluster) strip(names ...string) {
	c.t.Helper()
	for _, name := range names {
		o := c.get("configmaps", name).DeepCopy()
		annotations := o.GetAnnotations()
		delete(annotations, v1.AnnotationSeal)
		o.SetAnnotations(annotations)
		c.Store(configMap(name), o)
	}
	c.deliver()
}

func (c *cluster) sealOf(name string) string {
	return c.get("configmaps", name).GetAnnotations()[v1.AnnotationSeal]
}

// TestForgedChildrenAreNothing copies whatever can be read of a child to an object of another name.
func TestForgedChildrenAreNothing(t *testing.T) {
	showing := with(t, apps, "{{ len .children.maps }}", "{{ len .children.maps }}\n      texts: {{ range .observed.maps }}{{ .data.text }}{{ end }}")
	for why, row := range map[string]struct {
		manifest string
		do       func(*cluster)
		want     []string // sorted
	}{
		"the template yields the child no longer": {showing, func(c *cluster) { c.apply(with(t, app, "[a, b]", "[b]")) }, []string{"delete configmaps a", "status apps one"}},
		"all are made anew": {
			withEntry(t, showing, "updateStrategy: {type: Recreate}"), func(c *cluster) { c.apply(with(t, app, "hello", "bye")) },
			[]string{"delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one"},
		},
		"the TemplateController goes": {with(t, showing, "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n"), func(c *cluster) { c.goes() }, []string{"delete configmaps a", "delete configmaps b", "status apps one"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := runs(t, row.manifest)
			before := c.forge("a", "copy")
			wantRequests(t, "it appears", c.run())
			if got := c.condition("apps", "one", "Ready"); !strings.Contains(got, "True Ready") {
				t.Errorf("ready condition is %q", got)
			}
			if status, _, _ := unstructured.NestedMap(c.get("apps", "one").Object, "status"); status["count"] != int64(2) && status["count"] != 2 || status["texts"] != "hellohello" {
				t.Errorf("status is %v", status)
			}
			row.do(c)
			requests := c.run()
			slices.Sort(requests)
			wantRequests(t, why, requests, row.want...)
			if diff := cmp.Diff(before, c.get("configmaps", "copy")); diff != "" {
				t.Errorf("the copy changed:\n%s", diff)
			}
		})
	}
}

// TestRotation adds a key, waits, and takes the older one away.
func TestRotation(t *testing.T) {
	for _, strategy := range []string{"Apply", "Recreate", "CreateOnly", "OnDelete"} {
		t.Run(strategy, func(t *testing.T) {
			c := runs(t, under(t, strategy))
			c.apply(with(t, under(t, strategy), "name: maps", "name: maps\n    prunePolicy: Orphan"))
			c.apply(with(t, app, "[a, b]", "[b]")) // a stays all the same
			c.settle()
			c.keys = keysOf(t, "1", "2")
			c.controllers.seals.Set(c.keys)
			c.controllers.KeysChanged()
			requests := c.settle()
			slices.Sort(requests)
			wantRequests(t, "there is a new key", requests, "mark configmaps a", "mark configmaps b")
			for _, name := range []string{"a", "b"} {
				if got := c.sealOf(name); !strings.HasPrefix(got, "2:") {
					t.Errorf("the seal of %s is %q", name, got)
				}
			}
			c.start()
			wantRequests(t, "after a restart", c.settle())
			c.keys = keysOf(t, "2")
			c.start()
			wantRequests(t, "the older key is gone", c.settle())
		})
	}
}

// older has all that is there be older than the keys, whose number is given. The TemplateController is, too.
func (c *cluster) older(key string) {
	c.t.Helper()
	made := metav1.NewTime(c.clock.Now())
	for at, o := range c.Objects {
		o = o.DeepCopy()
		o.SetCreationTimestamp(made)
		c.Store(at, o)
	}
	c.clock.SetTime(made.Add(time.Hour))
	data := map[string]any{key: base64.StdEncoding.EncodeToString([]byte(strings.Repeat(key[:1], 32)))}
	keys, err := seal.Parse(data, c.clock.Now())
	if err != nil {
		c.t.Fatal(err)
	}
	c.keys = keys
}

// TestChildrenFromBeforeTheKeysAreSealedOnce is what happens after an upgrade, and when the keys are lost.
func TestChildrenFromBeforeTheKeysAreSealedOnce(t *testing.T) {
	for why, lose := range map[string]func(c *cluster){
		"an upgrade":   func(c *cluster) { c.strip("a", "b") },
		"another key":  func(*cluster) {},
		"some of each": func(c *cluster) { c.strip("a") },
	} {
		for strategy, verb := range map[string]string{"Apply": "update", "Recreate": "mark", "CreateOnly": "mark", "OnDelete": "mark"} {
			t.Run(why+", "+strategy, func(t *testing.T) {
				c := runs(t, under(t, strategy))
				lose(c)
				c.older("9")
				c.start()
				requests := c.settle()
				slices.Sort(requests)
				wantRequests(t, "with the new key", requests, verb+" configmaps a", verb+" configmaps b")
				for _, name := range []string{"a", "b"} {
					if got := c.sealOf(name); !strings.HasPrefix(got, "9:") {
						t.Errorf("the seal of %s is %q", name, got)
					}
				}
				since, _, _ := unstructured.NestedString(c.get("templatecontrollers", "apps").Object, "status", "sealedSince")
				if want := c.keys.Since.UTC().Format(time.RFC3339); since != want {
					t.Errorf("status.sealedSince is %q, want %q", since, want)
				}
				c.start()
				wantRequests(t, "after a restart", c.settle())

				c.strip("a") // it is as old as before, but its time is over
				c.start()
				c.settle()
				if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False ChildConflict") {
					t.Errorf("ready condition is %q", got)
				}
			})
		}
	}
}

// TestAPassBetweenNewKeysAndTheirAdoptionDecidesNothing has an administrator vouch for all that is there, and a pass come before the
// TemplateController is looked at: only that has children adopted that have no seal.
func TestAPassBetweenNewKeysAndTheirAdoptionDecidesNothing(t *testing.T) {
	c := runs(t, apps)
	c.older("1")
	c.start()
	c.settle()
	c.strip("a")
	c.start()
	c.settle()
	if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False ChildConflict") {
		t.Fatalf("ready condition is %q", got)
	}
	keys := *c.keys
	keys.Since = c.clock.Now()
	c.keys = &keys
	c.controllers.seals.Set(c.keys)
	c.pass("apps", "one")
	c.controllers.KeysChanged()
	c.settle()
	if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, "True") {
		t.Errorf("ready condition is %q", got)
	}
	if got := c.sealOf("a"); !strings.HasPrefix(got, "1:") {
		t.Errorf("the seal is %q", got)
	}
}

func TestChildrenFromBeforeTheKeysAreSealedUntilNoneIsLeft(t *testing.T) {
	c := runs(t, apps)
	c.strip("a", "b")
	c.older("9")
	c.start()
	c.refuse["update configmaps a"] = errors.New("no answer")
	look := func() (since string) {
		c.run()
		c.deliver()
		c.controllers.queue.Add("apps")
		c.run()
		since, _, _ = unstructured.NestedString(c.get("templatecontrollers", "apps").Object, "status", "sealedSince")
		return since
	}
	if since := look(); since != "" || !strings.HasPrefix(c.sealOf("b"), "9:") {
		t.Errorf("one of two is sealed, the seal of the other is %q, and status.sealedSince is %q", c.sealOf("b"), since)
	}
	delete(c.refuse, "update configmaps a")
	c.settle()
	if since := look(); since == "" || !strings.HasPrefix(c.sealOf("a"), "9:") {
		t.Errorf("both are sealed, the seal of one is %q, and status.sealedSince is %q", c.sealOf("a"), since)
	}
}

func TestASpecThatIsNotFollowedEndsNoAdoption(t *testing.T) {
	c := runs(t, apps)
	e, next := c.controllers.tracked["apps"], c.controllers.get("apps")
	for why, row := range map[string]struct {
		a       assembly
		suspend bool
		want    bool
	}{
		"it is rejected":  {assembly{rejection: &spec.Rejection{}}, false, false},
		"it is suspended": {assembly{}, true, false},
		"it is followed":  {assembly{}, false, true},
	} {
		next.Factory.Adopting, next.Spec.Suspend = true, row.suspend
		if got := c.controllers.sealedSince(&v1.TemplateController{}, e, row.a, next); (got != nil) != row.want {
			t.Errorf("%s: all are sealed since %v", why, got)
		}
	}
}

func TestControllersRun(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { c.controllers.Run(ctx, t.Context()); close(stopped) }()
	eventually(t, "the TemplateController is looked at", func() bool { return c.controllers.get("apps") != nil })
	cancel()
	<-stopped
}
