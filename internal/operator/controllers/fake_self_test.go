package controllers

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube/request"
)

func TestObjectsWithFinalizersGoLater(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(app)
	one := c.Find("apps", "one")
	c.KubectlApply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns, finalizers: [x], ownerReferences: [{apiVersion: example.org/v1, kind: App, name: one, uid: " + string(one.GetUID()) + ", blockOwnerDeletion: true}]}")
	if err := c.Delete(t.Context(), locationOf(one), request.Deletion{UID: one.GetUID(), Propagation: metav1.DeletePropagationForeground}); err != nil {
		t.Fatal(err)
	}
	c.Settle()
	if c.Find("apps", "one") == nil || c.Find("configmaps", "a").GetDeletionTimestamp() == nil {
		t.Error("a foreground deletion waits for dependents, and has them deleted")
	}
	c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
	c.Settle()
	if len(c.Objects) > 0 {
		t.Errorf("%d objects are left", len(c.Objects))
	}
}

func TestSettleDoesWhatResultAsksFor(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.Run()
	c.KubectlApply(app)
	edited := c.Find("apps", "one").DeepCopy()
	edited.SetAnnotations(map[string]string{"new": "yes"})
	c.Store(locationOf(edited), edited) // so that the first status is refused
	wantRequests(t, "a watch that is behind", c.Run(), "create configmaps a", "create configmaps b", "status apps one")
	wantRequests(t, "once it is not", c.Settle(), "status apps one")
	if got, want := c.Condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}
