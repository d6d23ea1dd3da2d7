package reconcile_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/preflight"
)

const textOfOthers = "createOnlyFields: [data.text]"

// data returns the data of a ConfigMap.
func (c *cluster) data(name string) any { return c.Find("configmaps", name).Object["data"] }

// scale sets data.text of the ConfigMap "a" like an autoscaler.
func (c *cluster) scale(text string) { c.KubectlEdit(configMap("a"), setText(text)) }

// scaleUnseen is scale, but the caches are not updated.
func (c *cluster) scaleUnseen(text string) {
	next := c.Find("configmaps", "a").DeepCopy()
	setText(text)(next)
	memserver.Updated(next, "autoscaler", map[string]any{"f:data": map[string]any{"f:text": map[string]any{}}})
	c.Store(configMap("a"), next)
}

// wantText fails the test if a version of the ConfigMap "a" has another text than text returns.
func (c *cluster) wantText(why string, want func() string) {
	c.During = func() {
		if o := c.Find("configmaps", "a"); o != nil {
			if got, _, _ := unstructured.NestedString(o.Object, "data", "text"); got != want() {
				c.T.Errorf("%s: data.text is %q, want %q", why, got, want())
			}
		}
	}
}

// TestCreateOnlyFieldsBelongToOthers has a user, an autoscaler and templates change one object.
func TestCreateOnlyFieldsBelongToOthers(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withTemplate(t, apps, textOfOthers))
	c.KubectlApply(app)
	wantRequests(t, "creation", c.Run(), "create configmaps a", "release configmaps a", "create configmaps b", "release configmaps b", "status apps one")
	if diff := cmp.Diff(map[string]any{"text": "hello"}, c.data("a")); diff != "" {
		t.Errorf("a new object (-want +got):\n%s", diff)
	}
	if fields, _ := memserver.Holdings(c.Find("configmaps", "a"), "templater/apps", ""); fields["f:data"] != nil {
		t.Errorf("templater owns %v", fields["f:data"])
	}
	c.Deliver()
	wantRequests(t, "own writes", c.Run())
	c.scale("scaled")
	wantRequests(t, "change by others", c.Run())
	c.KubectlApply(newApp(withText("bye")))
	wantRequests(t, "the template renders another value", c.Run(), "status apps one")
	c.KubectlApply(withTemplate(t, moreData(t), textOfOthers))
	wantRequests(t, "the template renders another field", c.Run(), "update configmaps a", "update configmaps b")
	if diff := cmp.Diff(map[string]any{"text": "scaled", "more": "x"}, c.data("a")); diff != "" {
		t.Errorf("after an update (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"text": "hello", "more": "x"}, c.data("b")); diff != "" {
		t.Errorf("after an update, without owner (-want +got):\n%s", diff)
	}
	c.start()
	wantRequests(t, "restart", c.Run())
	c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.Object["data"].(map[string]any)["more"] = "edited" })
	wantRequests(t, "drift of another field", c.Run(), "update configmaps a")
	if diff := cmp.Diff(map[string]any{"text": "scaled", "more": "x"}, c.data("a")); diff != "" {
		t.Errorf("after drift (-want +got):\n%s", diff)
	}
	c.RemoveNow(configMap("a"))
	c.Run()
	if diff := cmp.Diff(map[string]any{"text": "bye", "more": "x"}, c.data("a")); diff != "" {
		t.Errorf("created again (-want +got):\n%s", diff)
	}
}

// TestAddingCreateOnlyFieldKeepsValue hands over a field of existing objects, which the API server would remove if templater no longer applied it.
func TestAddingCreateOnlyFieldKeepsValue(t *testing.T) {
	for _, row := range []struct {
		why, strategy string
		requests      []string
		then          []string // once the path is removed
	}{
		{why: "Apply", strategy: "Apply", requests: []string{"release configmaps a", "update configmaps a", "release configmaps b", "update configmaps b"}, then: []string{"update configmaps a", "update configmaps b"}},
		{why: "Recreate deletes nothing", strategy: "Recreate", requests: []string{"release configmaps a", "mark configmaps a", "release configmaps b", "mark configmaps b"}, then: []string{"delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one"}},
		{why: "OnDelete reports no outdated object", strategy: "OnDelete", requests: []string{"release configmaps a", "mark configmaps a", "release configmaps b", "mark configmaps b"}, then: []string{"status apps one"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := newCluster(t)
			c.restless = row.strategy == "Recreate"
			strategy := withStrategy(t, row.strategy)
			c.KubectlApply(strategy)
			c.KubectlApply(app)
			c.Run()
			c.wantText("adding", func() string { return "hello" })
			c.KubectlApply(withTemplate(t, strategy, textOfOthers))
			wantRequests(t, "added", c.Run(), row.requests...)
			c.KubectlApply(newApp(withText("bye")))
			wantRequests(t, "the template renders another value", c.Run(), "status apps one")
			c.WantReady("True Ready: all children are ready: 2")
			c.scale("scaled")
			c.wantText("scaled", func() string { return "scaled" })
			wantRequests(t, "scaled", c.Run())
			c.During = nil
			c.KubectlApply(strategy)
			wantRequests(t, "removed", c.Run(), row.then...)
		})
	}
}

// TestCreateOnlyFieldsInRaces has an autoscaler write immediately before each request of templater.
func TestCreateOnlyFieldsInRaces(t *testing.T) {
	for before := range 3 {
		c := newCluster(t)
		c.KubectlApply(apps)
		c.KubectlApply(newApp(withChildren("a")))
		c.Run()
		requests, scaled := 0, "hello"
		c.During = func() {
			if got, _, _ := unstructured.NestedString(c.Find("configmaps", "a").Object, "data", "text"); got != scaled {
				t.Errorf("before request %d: data.text is %q, want %q", requests, got, scaled)
			}
			if requests == before {
				scaled = "scaled"
				c.scaleUnseen(scaled)
			}
			requests++
		}
		c.KubectlApply(withTemplate(t, moreData(t), textOfOthers))
		c.Run()
		c.Deliver()
		c.Run()
		if diff := cmp.Diff(map[string]any{"text": scaled, "more": "x"}, c.data("a")); diff != "" {
			t.Errorf("a write before request %d (-want +got):\n%s", before, diff)
		}
	}
}

func TestFailedReleaseOfCreateOnlyFieldsIsRetried(t *testing.T) {
	refused := refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no")
	c := newCluster(t)
	c.KubectlApply(withTemplate(t, apps, textOfOthers))
	c.Refuse["release configmaps a"] = refused
	c.KubectlApply(newApp(withChildren("a")))
	wantRequests(t, "creation", c.Run(), "create configmaps a", "release configmaps a", "status apps one")
	wantRequests(t, "again", c.Run())
	c.start() // as if the process ended before the request
	c.KubectlApply(with(t, newApp(withChildren("a")), "hello", "bye"))
	wantRequests(t, "update", c.Run(), "release configmaps a", "status apps one")
	c.WantReady("False ChildRequestFailed: cannot mark ConfigMap ns/a: the API server returned 500 InternalError")
	delete(c.Refuse, "release configmaps a")
	c.Refuse["release configmaps a"] = conflict(configMap("a"))
	_, requests := c.Reconcile("apps", "one")
	wantRequests(t, "changed concurrently", requests, "release configmaps a", "get configmaps a", "status apps one")
	delete(c.Refuse, "release configmaps a")
	_, requests = c.Reconcile("apps", "one")
	wantRequests(t, "works again", requests, "release configmaps a", "status apps one")
	if diff := cmp.Diff(map[string]any{"text": "hello"}, c.data("a")); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

func TestCreateOnlyFieldsOfReplacedObject(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(newApp(withChildren("a")))
	c.Run()
	c.During = func() {
		c.During = nil
		o := c.Find("configmaps", "a").DeepCopy()
		o.SetUID("other")
		c.Remove(configMap("a"))
		c.Store(configMap("a"), o)
	}
	c.KubectlApply(withTemplate(t, apps, textOfOthers))
	wantRequests(t, "replaced", c.Run(), "release configmaps a", "get configmaps a", "status apps one")
	c.WantReady("False Progressing: ConfigMap ns/a is being replaced")
	c.Deliver()
	wantRequests(t, "the new one is seen", c.Run(), "release configmaps a", "update configmaps a", "status apps one")
}

func TestInvalidCreateOnlyFields(t *testing.T) {
	for field, want := range map[string]string{
		"data.text.value": "False InvalidChild: children[maps]:3: createOnlyFields has data.text.value, but data.text is not a mapping: list data.text instead",
	} {
		c := newCluster(t)
		c.KubectlApply(withTemplate(t, apps, "createOnlyFields: ["+field+"]"))
		c.KubectlApply(newApp(withChildren("a")))
		wantRequests(t, field, c.Run(), "status apps one")
		c.WantReady(want)
	}
}

// TestCreateOnlyFieldOfAtomicMapping has a field that cannot have an owner of its own: it would be reset with its neighbors.
func TestCreateOnlyFieldOfAtomicMapping(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withTemplate(t, moreData(t), textOfOthers))
	c.Admit = func(o *unstructured.Unstructured, manager string) {
		if o.GetKind() == "ConfigMap" {
			fields, _ := memserver.Holdings(o, manager, "")
			fields["f:data"] = map[string]any{}
			memserver.Own(o, manager, "", fields)
		}
	}
	c.KubectlApply(newApp(withChildren("a")))
	const want = "False InvalidChild: children[maps]:3: createOnlyFields has data.text, but data of ConfigMap ns/a is atomic, so its fields cannot have different owners: list data instead"
	wantRequests(t, "creation", c.Run(), "create configmaps a", "status apps one")
	c.WantReady(want)
	c.KubectlApply(withTemplate(t, with(t, moreData(t), "more: x", "more: z"), textOfOthers))
	wantRequests(t, "update", c.Run(), "status apps one")
	c.WantReady(want)
}

// appliedTexts are dry runs that record the applied data.text.
type appliedTexts struct {
	controller.Client
	texts *[]string
}

func (a appliedTexts) Apply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	o, err := object.Decode(body)
	if err != nil {
		return nil, err
	}
	*a.texts = append(*a.texts, o.Text("data", "text")+" "+o.ResourceVersion())
	return a.Client.Apply(ctx, at, body, manager)
}

// TestDryRunKeepsCreateOnlyFields has an object whose fields templater would release first, which a dry run cannot do.
func TestDryRunKeepsCreateOnlyFields(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(newApp(withChildren("a")))
	c.Run()
	var texts []string
	next := c.revision(strings.ReplaceAll(withTemplate(t, moreData(t), textOfOthers), "$.spec.text", `"other"`))
	p := preflight.New(preflight.Options{Client: func(string) controller.Client { return appliedTexts{c.DryRun(), &texts} }, Clock: c.Clock, Memory: c.shared.memory})
	version := c.Find("configmaps", "a").GetResourceVersion()
	attempt := p.DryRun(c.Context(), next, types.NamespacedName{Namespace: "ns", Name: "one"})
	if diff := cmp.Diff([]string{"hello " + version}, texts); diff != "" || len(attempt.Problems) > 0 {
		t.Errorf("applied texts (-want +got):\n%s\nproblems: %v", diff, attempt.Problems)
	}
}
