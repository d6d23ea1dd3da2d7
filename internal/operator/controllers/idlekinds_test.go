package controllers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// kinds returns the child kinds in the status of the TemplateController and in its watches.
func kinds(c *cluster) string {
	list, _, _ := unstructured.NestedSlice(c.Find("templatecontrollers", "apps").Object, "status", "childKinds")
	var out []string
	for _, each := range list {
		kind, _ := each.(map[string]any)
		out = append(out, fmt.Sprint(kind["kind"]))
	}
	var watched []string
	for _, want := range c.Owned["apps"] {
		if want.Role == watch.Child {
			watched = append(watched, want.Resource.Resource)
		}
	}
	slices.Sort(watched)
	return strings.Join(out, " ") + "; " + strings.Join(watched, " ")
}

func TestUnusedChildKindIsDropped(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Settle()
	expect := func(why, want string) {
		t.Helper()
		if got := kinds(c); got != want {
			t.Errorf("%s: kinds %q, want %q", why, got, want)
		}
	}
	expect("at first", "ConfigMap; configmaps")
	c.KubectlApply(jobs(t))
	c.Settle()
	expect("an edited template yields another kind", "Job; jobs")
	if c.Find("jobs", "a") == nil || c.Find("configmaps", "a") != nil {
		t.Error("the children have not followed")
	}
	c.KubectlApply(apps)
	c.Settle()
	expect("the kind comes back", "ConfigMap; configmaps")
	if c.Find("jobs", "a") != nil || c.Find("configmaps", "a") == nil {
		t.Error("the children have not followed")
	}
	c.KubectlApply(newApp(withChildren()))
	c.Settle()
	expect("no parent has children any more", "; ")
	c.KubectlApply(app)
	c.Settle()
	expect("a parent has some again", "ConfigMap; configmaps")
	c.KubectlApply(jobs(t))
	c.start() // before it has been synced
	c.Settle()
	expect("edited while nobody was there", "Job; jobs")
	if c.Find("configmaps", "a") != nil {
		t.Error("a child is lost track of")
	}
}

// TestDroppedKindIsReadAgainWhenNeeded: a reconciliation needs the kind before its watch has ended.
func TestDroppedKindIsReadAgainWhenNeeded(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(newApp(withChildren()))
	c.Settle()
	c.KubectlApply(app)
	c.Settle()
	c.KubectlApply(newApp(withChildren()))
	c.Deliver()
	c.Reconcile("apps", "one") // deletes
	c.Deliver()
	c.Reconcile("apps", "one") // has nothing to do
	c.controllers.dropIdleKinds("apps", c.controllers.tracked["apps"])
	if s := c.controllers.get("apps").Sources; len(s) > 0 {
		t.Fatalf("kinds that are left: %v", s)
	}
	c.KubectlApply(app)
	c.Deliver()
	c.Run() // the status was not written since the kind was dropped: it is still recorded
	if c.Find("configmaps", "a") == nil {
		t.Error("the parent that waits for the kind is not reconciled")
	}
	c.Settle()
	if got, want := kinds(c), "ConfigMap; configmaps"; got != want {
		t.Errorf("kinds %q, want %q", got, want)
	}
}

func TestKindIsKeptWhileObjectsMayExist(t *testing.T) {
	const fine = "Job; jobs"
	var leave func()
	configMaps := watch.Want{Resource: configMap("").Resource, Labels: v1.LabelController, Role: watch.Child}
	for why, row := range map[string]struct {
		before, after func(*cluster)
		then          func(*cluster) // what ends it; nil = nothing
	}{
		"an object is left alone": {
			before: func(c *cluster) {
				c.KubectlApply(withTemplate(t, apps, "prunePolicy: Orphan"))
			},
		},
		"another parent is not understood": {
			before: func(c *cluster) {
				c.KubectlApply(with(t, app, "name: one", "name: two", "spec: {", "spec: {odd: true, "))
			},
			then: func(c *cluster) { c.KubectlApply(newApp(withName("two"), withChildren())) },
		},
		"it cannot be read": {
			before: func(c *cluster) { c.Caches[configMaps].Fail(refusal(403, "Forbidden", "x")) },
			then:   func(c *cluster) { reconciletest.Resume(c.T, c.Caches[configMaps]); c.controllers.queue.Add("apps") },
		},
		"a reconciliation is under way": {
			before: func(c *cluster) { _, leave = c.controllers.Enter("apps") },
			then:   func(*cluster) { leave() },
		},
		"it is suspended": {
			after: func(c *cluster) { c.KubectlApply(withSpec(t, jobs(t), "suspend: true")) },
			then:  func(c *cluster) { c.KubectlApply(jobs(t)) },
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			c.KubectlApply(app)
			c.Settle()
			if row.before != nil {
				row.before(c)
			}
			edited := with(t, jobs(t), "{{ range .spec.names }}", "{{ if .spec.odd }}{{ .spec.none }}{{ end }}{{ range .spec.names }}")
			if why == "an object is left alone" {
				edited = withTemplate(t, edited, "prunePolicy: Orphan")
			}
			c.KubectlApply(edited)
			if row.after != nil {
				row.after(c)
			}
			c.Run()
			c.Deliver()
			c.Run()
			c.Clock.SetTime(c.Clock.Now().Add(2 * countsDelay))
			c.Run()
			if got := kinds(c); !strings.Contains(got, "configmaps") || !strings.Contains(got, "ConfigMap") {
				t.Errorf("kinds %q: ConfigMap is forgotten", got)
			}
			if row.then == nil {
				return
			}
			row.then(c)
			c.Settle()
			if got := kinds(c); got != fine {
				t.Errorf("kinds %q in the end, want %q", got, fine)
			}
		})
	}
}
