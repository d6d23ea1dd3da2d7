package controllers

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// Tests of the cluster that the other tests run on: where it answers otherwise than a server, these
// prove nothing.

const configMapText = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}, "data": `

func TestAppliesAreMergedByManager(t *testing.T) {
	type write struct{ manager, data string }
	for why, row := range map[string]struct {
		writes []write
		data   string
		holds  map[string]string // by manager
	}{
		"each has fields of its own": {
			[]write{{"x", `{"one": "1"}`}, {"y", `{"two": "2"}`}}, `{"one": "1", "two": "2"}`,
			map[string]string{"x": `{"f:one": {}}`, "y": `{"f:two": {}}`},
		},
		"what a manager sets no more is gone": {
			[]write{{"x", `{"one": "1", "two": "2"}`}, {"x", `{"two": "2"}`}}, `{"two": "2"}`, map[string]string{"x": `{"f:two": {}}`},
		},
		"unless somebody else holds it, too": {
			[]write{{"x", `{"one": "1"}`}, {"y", `{"one": "1"}`}, {"x", `{"two": "2"}`}}, `{"one": "1", "two": "2"}`,
			map[string]string{"x": `{"f:two": {}}`, "y": `{"f:one": {}}`},
		},
		"who sets another value takes the field": {
			[]write{{"x", `{"one": "1", "two": "2"}`}, {"y", `{"one": "other"}`}}, `{"one": "other", "two": "2"}`,
			map[string]string{"x": `{"f:two": {}}`, "y": `{"f:one": {}}`},
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			for _, w := range row.writes {
				if _, err := c.Apply(t.Context(), configMap("a"), []byte(configMapText+w.data+"}"), w.manager); err != nil {
					t.Fatal(err)
				}
			}
			o := c.get("configmaps", "a")
			if diff := cmp.Diff(decoded(t, row.data), o.Object["data"]); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			for manager, want := range row.holds {
				set, _ := holdings(o, manager, "")
				if diff := cmp.Diff(decoded(t, want), set["f:data"]); diff != "" {
					t.Errorf("%s holds (-want +got):\n%s", manager, diff)
				}
			}
		})
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	var out any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestConditionsAreMergedByType(t *testing.T) {
	c := newCluster(t)
	at := locationOf(c.apply(app))
	const ready, other = `{"type": "Ready", "status": "True"}`, `{"type": "Other", "status": "True"}`
	for _, w := range [][2]string{{"x", ready + "," + other}, {"y", `{"type": "Other", "status": "False"}`}, {"x", ready}} {
		body := `{"apiVersion": "example.org/v1", "kind": "App", "metadata": {"name": "one", "namespace": "ns"}, "status": {"conditions": [` + w[1] + `]}}`
		if _, err := c.ApplyStatus(t.Context(), at, []byte(body), w[0]); err != nil {
			t.Fatal(err)
		}
	}
	got := c.get("apps", "one").Object["status"]
	if diff := cmp.Diff(decoded(t, `{"conditions": [`+ready+`, {"type": "Other", "status": "False"}]}`), got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestRequestsForAnotherObjectAreRefused(t *testing.T) {
	body := func(more string) []byte {
		return []byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns", ` + more + `}}`)
	}
	there := func(c *cluster) { c.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns}") }
	nothing := func(*cluster) {}
	for why, row := range map[string]struct {
		prepare func(*cluster)
		do      func(*cluster) error
		is      func(error) bool
	}{
		"a create of what is there": {there, func(c *cluster) error {
			_, err := c.Apply(t.Context(), configMap("a"), body(`"resourceVersion": "1"`), "x")
			return err
		}, apierrors.IsConflict},
		"an update of what is another object by now": {there, func(c *cluster) error {
			_, err := c.Apply(t.Context(), configMap("a"), body(`"uid": "other"`), "x")
			return err
		}, func(err error) bool { return apierrors.IsInvalid(err) && running.Stale(err) }},
		"an update of what is gone": {nothing, func(c *cluster) error {
			_, err := c.Apply(t.Context(), configMap("a"), body(`"uid": "other"`), "x")
			return err
		}, apierrors.IsConflict},
		"a deletion of what is another object by now": {there, func(c *cluster) error {
			return c.Delete(t.Context(), configMap("a"), "other", metav1.DeletePropagationBackground)
		}, apierrors.IsConflict},
		"labels for what is another object by now": {there, func(c *cluster) error {
			_, err := c.SetMetadata(t.Context(), configMap("a"), kube.Metadata{UID: "other"}, "x")
			return err
		}, running.Stale},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			row.prepare(c)
			if err := row.do(c); !row.is(err) {
				t.Errorf("the answer is %v", err)
			}
		})
	}
}

func TestObjectsWithFinalizersGoLater(t *testing.T) {
	c := newCluster(t)
	c.apply(app)
	one := c.get("apps", "one")
	c.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns, finalizers: [x], ownerReferences: [{apiVersion: example.org/v1, kind: App, name: one, uid: " + string(one.GetUID()) + ", blockOwnerDeletion: true}]}")
	if err := c.Delete(t.Context(), locationOf(one), one.GetUID(), metav1.DeletePropagationForeground); err != nil {
		t.Fatal(err)
	}
	c.settle()
	if c.get("apps", "one") == nil || c.get("configmaps", "a").GetDeletionTimestamp() == nil {
		t.Error("a foreground deletion waits for dependents, and has them deleted")
	}
	c.edit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
	c.settle()
	if len(c.objects) > 0 {
		t.Errorf("%d objects are left", len(c.objects))
	}
}

func TestSettleDoesWhatResultAsksFor(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.run()
	c.apply(app)
	edited := c.get("apps", "one").DeepCopy()
	edited.SetAnnotations(map[string]string{"new": "yes"})
	c.store(locationOf(edited), edited) // so that the first status is refused
	wantRequests(t, "a watch that is behind", c.run(), "create configmaps a", "create configmaps b", "status apps one")
	wantRequests(t, "once it is not", c.settle(), "status apps one")
	if got, want := c.condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}
