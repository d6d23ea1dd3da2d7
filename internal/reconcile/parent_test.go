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
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestFirstReconciliationWritesEachObjectOnce(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	wantRequests(t, "first reconciliation", c.Run(), "create configmaps a", "create configmaps b", "status apps one")
	_, again := c.Reconcile("apps", "one")
	wantRequests(t, "second reconciliation, before the watch brings the writes", again)
	c.Deliver()
	wantRequests(t, "after the watch brought the writes", c.Run())

	child := c.Find("configmaps", "a")
	if ref := metav1.GetControllerOf(child); ref == nil || ref.Name != "one" || ref.Kind != "App" || ref.UID != "uid-one" || !*ref.BlockOwnerDeletion {
		t.Errorf("owner reference is %v", ref)
	}
	want := map[string]string{v1.LabelController: "apps", v1.LabelChild: "maps", v1.LabelParentUID: "uid-one", v1.LabelManagedBy: "templater"}
	if diff := cmp.Diff(want, child.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	status := c.Find("apps", "one").Object["status"].(map[string]any)
	if status["count"] != int64(2) {
		t.Errorf("status.count is %v, want 2: the status sees the children of its own reconciliation", status["count"])
	}
	if got, want := c.Condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

func TestRestartWritesNothingForUnchangedParents(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.start()
	wantRequests(t, "restart", c.Run())
}

func TestChangesCauseMinimalWrites(t *testing.T) {
	for why, row := range map[string]struct {
		change func(*testing.T, *cluster)
		want   []string
	}{
		"of the parent, one child of which differs": {
			func(_ *testing.T, c *cluster) { c.KubectlApply(newApp(withChildren("a", "b", "c"))) },
			[]string{"create configmaps c", "status apps one"},
		},
		"of the parent, whose children all differ": {
			func(_ *testing.T, c *cluster) { c.KubectlApply(newApp(withText("bye"))) },
			[]string{"update configmaps a", "update configmaps b", "status apps one"}, // the status contains the generation
		},
		"of the parent, so that a child is no longer wanted": {
			func(_ *testing.T, c *cluster) { c.KubectlApply(newApp(withChildren("a"))) },
			[]string{"delete configmaps b", "status apps one"},
		},
		"of the template": {
			func(t *testing.T, c *cluster) { c.KubectlApply(with(t, apps, "data: {text", "data: {more: x, text")) },
			[]string{"update configmaps a", "update configmaps b"},
		},
		"of the status template, so that a field goes": {
			func(t *testing.T, c *cluster) { c.KubectlApply(with(t, apps, "count:", "number:")) },
			[]string{"status apps one"},
		},
		"of the status alone, by somebody else": {
			func(_ *testing.T, c *cluster) {
				o := c.Find("apps", "one").DeepCopy()
				o.Object["status"].(map[string]any)["count"] = int64(7)
				c.Store(locationOf(o), o)
				c.Deliver()
			},
			[]string{"status apps one"},
		},
		"of a child, by somebody who takes a field": {
			func(_ *testing.T, c *cluster) {
				o := c.Find("configmaps", "a").DeepCopy()
				o.Object["data"] = map[string]any{"text": "other"}
				entries, _, _ := unstructured.NestedSlice(o.Object, "metadata", "managedFields")
				delete(entries[0].(map[string]any)["fieldsV1"].(map[string]any), "f:data")
				o.Object["metadata"].(map[string]any)["managedFields"] = entries
				c.Store(configMap("a"), o)
				c.Deliver()
			},
			[]string{"update configmaps a"},
		},
		"of a child, by somebody who adds a field of their own": {
			func(_ *testing.T, c *cluster) {
				o := c.Find("configmaps", "a").DeepCopy()
				o.Object["data"].(map[string]any)["extra"] = "x"
				c.Store(configMap("a"), o)
				c.Deliver()
			},
			nil,
		},
		"of a child, which somebody deletes": {
			func(_ *testing.T, c *cluster) { c.RemoveNow(configMap("a")) },
			[]string{"create configmaps a"},
		},
		"of a child, which loses our label: it is found and brought in line": {
			func(_ *testing.T, c *cluster) {
				o := c.Find("configmaps", "a").DeepCopy()
				o.SetLabels(nil)
				c.Store(configMap("a"), o)
				c.Deliver()
			},
			[]string{"create configmaps a", "get configmaps a", "update configmaps a"},
		},
		"of nothing": {func(*testing.T, *cluster) {}, nil},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			c.KubectlApply(app)
			c.Run()
			row.change(t, c)
			wantRequests(t, why, c.Run(), row.want...)
			c.Settle() // what was deleted disappears, and is no longer counted
			_, again := c.Reconcile("apps", "one")
			wantRequests(t, "the reconciliation after", again)
		})
	}
}

func TestErrorsPreventPruning(t *testing.T) {
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
			c.KubectlApply(apps)
			c.KubectlApply(app)
			c.Run()
			c.Refuse["create configmaps refused"] = refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, secret)
			two := with(t, apps, "  status:\n", "  - name: more\n    template: |\n      "+strings.ReplaceAll(template, "\n", "\n      ")+"\n  status:\n", "range .spec.names", "range list")
			c.KubectlApply(two)
			for _, request := range c.Run() {
				if strings.HasPrefix(request, "delete") {
					t.Errorf("request %q although not everything is known", request)
				}
			}
			if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False ") || strings.Contains(got, secret) {
				t.Errorf("ready condition is %q", got)
			}
			if waits := why == "a template that waits"; waits == (len(c.Events) > 0) {
				t.Errorf("Events: %v", c.Events)
			}
			_, again := c.Reconcile("apps", "one")
			again = slices.DeleteFunc(again, func(r string) bool { return r == "create configmaps refused" })
			wantRequests(t, "the reconciliation after", again)
			c.KubectlApply(apps)
			c.Run()
			if got, want := c.Condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
				t.Errorf("after the correction the ready condition is %q, want %q", got, want)
			}
		})
	}
}

func TestTransientWatchFailureIsCleared(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	children := c.Caches[watch.Want{Resource: configMap("").Resource, Labels: v1.LabelController, Role: watch.Child}]
	children.Fail(errors.New("refused"))
	c.Reconcile("apps", "one")
	if got, want := c.Condition("apps", "one", "Ready"), "False ChildRequestFailed: templater cannot read configmaps"; !strings.HasPrefix(got, want) {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	reconciletest.Resume(t, children) // before the TemplateController is synced
	c.Run()
	if got, want := c.Condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

func TestPanicAffectsOnlyOneKey(t *testing.T) {
	c := newCluster(t)
	c.restless = true
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.controllers.get("apps").Spec = nil
	key := queue.Key{Controller: "apps", Parent: configMapName("one")}
	c.ParentQueue.Add(key)
	if !c.Reconciler.Next(t.Context(), t.Context(), func() {}) || c.ParentQueue.NumRequeues(key) != 1 {
		t.Errorf("nothing else is worked on, or the key is not tried again: %d failures", c.ParentQueue.NumRequeues(key))
	}
}
