package reconcile_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

const app = `
apiVersion: example.org/v1
kind: App
metadata: {namespace: ns, name: one, labels: {tier: front}}
spec: {names: [a, b], text: hello}
`

// apps makes a ConfigMap for each of spec.names.
const apps = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: maps
    template: |
      {{ range .spec.names }}
      ---
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: {{ . }}}
      data: {text: {{ $.spec.text }}}
      {{ end }}
  status:
    template: |
      count: {{ len .children.maps }}
`

func TestFirstPassWritesEachChildAndTheStatusOnce(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	wantRequests(t, "first pass", c.run(), "create configmaps a", "create configmaps b", "status apps one")
	_, again := c.pass("apps", "one")
	wantRequests(t, "second pass, before the watch brings the writes", again)
	c.deliver()
	wantRequests(t, "after the watch brought the writes", c.run())

	child := c.get("configmaps", "a")
	if ref := metav1.GetControllerOf(child); ref == nil || ref.Name != "one" || ref.Kind != "App" || ref.UID != "uid-one" || !*ref.BlockOwnerDeletion {
		t.Errorf("owner reference is %v", ref)
	}
	want := map[string]string{v1.LabelController: "apps", v1.LabelChild: "maps", v1.LabelParentUID: "uid-one", v1.LabelManagedBy: "templater"}
	if diff := cmp.Diff(want, child.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	status := c.get("apps", "one").Object["status"].(map[string]any)
	if status["count"] != int64(2) {
		t.Errorf("status.count is %v, want 2: the status sees the children of its own pass", status["count"])
	}
	if got, want := c.condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

func TestRestartOverQuietParentsWritesNothing(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	c.start()
	wantRequests(t, "restart", c.run())
}

func TestChangesAreFollowed(t *testing.T) {
	for why, row := range map[string]struct {
		change func(*testing.T, *cluster)
		want   []string
	}{
		"of the parent, one child of which differs": {
			func(t *testing.T, c *cluster) { c.apply(with(t, app, "[a, b]", "[a, b, c]")) },
			[]string{"create configmaps c", "status apps one"},
		},
		"of the parent, whose children all differ": {
			func(t *testing.T, c *cluster) { c.apply(with(t, app, "hello", "bye")) },
			[]string{"update configmaps a", "update configmaps b", "status apps one"}, // the status tells the generation
		},
		"of the parent, so that a child is no longer wanted": {
			func(t *testing.T, c *cluster) { c.apply(with(t, app, "[a, b]", "[a]")) },
			[]string{"delete configmaps b", "status apps one"},
		},
		"of the template": {
			func(t *testing.T, c *cluster) { c.apply(with(t, apps, "data: {text", "data: {more: x, text")) },
			[]string{"update configmaps a", "update configmaps b"},
		},
		"of the status template, so that a field goes": {
			func(t *testing.T, c *cluster) { c.apply(with(t, apps, "count:", "number:")) },
			[]string{"status apps one"},
		},
		"of the status alone, by somebody else": {
			func(_ *testing.T, c *cluster) {
				o := c.get("apps", "one").DeepCopy()
				o.Object["status"].(map[string]any)["count"] = int64(7)
				c.Store(locationOf(o), o)
				c.deliver()
			},
			[]string{"status apps one"},
		},
		"of a child, by somebody who takes a field": {
			func(_ *testing.T, c *cluster) {
				o := c.get("configmaps", "a").DeepCopy()
				o.Object["data"] = map[string]any{"text": "other"}
				entries, _, _ := unstructured.NestedSlice(o.Object, "metadata", "managedFields")
				delete(entries[0].(map[string]any)["fieldsV1"].(map[string]any), "f:data")
				o.Object["metadata"].(map[string]any)["managedFields"] = entries
				c.Store(configMap("a"), o)
				c.deliver()
			},
			[]string{"update configmaps a"},
		},
		"of a child, by somebody who adds a field of their own": {
			func(_ *testing.T, c *cluster) {
				o := c.get("configmaps", "a").DeepCopy()
				o.Object["data"].(map[string]any)["extra"] = "x"
				c.Store(configMap("a"), o)
				c.deliver()
			},
			nil,
		},
		"of a child, which somebody deletes": {
			func(_ *testing.T, c *cluster) { c.gone(configMap("a")) },
			[]string{"create configmaps a"},
		},
		"of a child, which loses our label: it is found and brought in line": {
			func(_ *testing.T, c *cluster) {
				o := c.get("configmaps", "a").DeepCopy()
				o.SetLabels(nil)
				c.Store(configMap("a"), o)
				c.deliver()
			},
			[]string{"create configmaps a", "get configmaps a", "update configmaps a"},
		},
		"of nothing": {func(*testing.T, *cluster) {}, nil},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(apps)
			c.apply(app)
			c.run()
			row.change(t, c)
			wantRequests(t, why, c.run(), row.want...)
			c.settle() // what was deleted goes, and is counted no more
			_, again := c.pass("apps", "one")
			wantRequests(t, "the pass after", again)
		})
	}
}

func TestNothingIsPrunedAfterAnError(t *testing.T) {
	for why, template := range map[string]string{
		"a template that fails":     `{{ fail "no" }}`,
		"a missing value":           `{{ .spec.nothing }}`,
		"no YAML":                   `{{ if .spec.names }}a: [{{ end }}`,
		"an unknown kind":           "apiVersion: v1\nkind: Unknown\nmetadata: {name: x}",
		"an object without a name":  "apiVersion: v1\nkind: ConfigMap",
		"a template that waits":     `{{ wait "not yet" }}`,
		"a refused sibling":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: refused}",
		"a cluster-scoped child":    "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}",
		"a child elsewhere":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: other}",
		"a name that is no segment": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a/b}",
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(apps)
			c.apply(app)
			c.run()
			c.refuse["create configmaps refused"] = answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, secret)
			two := with(t, apps, "  status:\n", "  - name: more\n    template: |\n      "+strings.ReplaceAll(template, "\n", "\n      ")+"\n  status:\n", "range .spec.names", "range list")
			c.apply(two)
			for _, request := range c.run() {
				if strings.HasPrefix(request, "delete") {
					t.Errorf("request %q although not everything is known", request)
				}
			}
			if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False ") || strings.Contains(got, secret) {
				t.Errorf("ready condition is %q", got)
			}
			if waits := why == "a template that waits"; waits == (len(c.events) > 0) {
				t.Errorf("Events: %v", c.events)
			}
			_, again := c.pass("apps", "one")
			again = slices.DeleteFunc(again, func(r string) bool { return r == "create configmaps refused" })
			wantRequests(t, "the pass after", again)
			c.apply(apps)
			c.run()
			if got, want := c.condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
				t.Errorf("after the correction the ready condition is %q, want %q", got, want)
			}
		})
	}
}

func TestShortFailureOfAWatchLeavesNoTrace(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	children := c.caches[watch.Want{Resource: configMap("").Resource, Labels: v1.LabelController, Role: watch.Child}]
	children.Fail(errors.New("refused"))
	c.pass("apps", "one")
	if got, want := c.condition("apps", "one", "Ready"), "False ChildRequestFailed: templater cannot read configmaps"; !strings.HasPrefix(got, want) {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	resumed(t, children) // before the TemplateController has been looked at
	c.run()
	if got, want := c.condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

func TestPanicHurtsOneKey(t *testing.T) {
	c := newCluster(t)
	c.restless = true
	c.apply(apps)
	c.apply(app)
	c.run()
	c.controllers.get("apps").Spec = nil
	key := queue.Key{Controller: "apps", Parent: configMapName("one")}
	c.parentsDue.Add(key)
	if !c.reconciler.Next(t.Context(), t.Context(), func() {}) || c.parentsDue.NumRequeues(key) != 1 {
		t.Errorf("nothing else is worked on, or the key is not tried again: %d failures", c.parentsDue.NumRequeues(key))
	}
}
