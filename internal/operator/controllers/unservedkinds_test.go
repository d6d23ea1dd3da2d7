package controllers

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// An unserved child kind has no objects only if a CRD defined it: an aggregated API keeps its objects while it is not
// registered.
func TestParentWaitsForUnservedChildrenAfterRestart(t *testing.T) {
	configMaps := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"} // not defined by a CRD
	gadgets := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Gadget"}
	ofGadgets := func(t *testing.T) string {
		return with(t, finalized(t), "apiVersion: v1\n      kind: ConfigMap", "apiVersion: example.org/v1\n      kind: Gadget", "data: {text", "spec: {text")
	}
	recordAsCustom := func(c *cluster) {
		c.KubectlEdit(appsController, func(o *unstructured.Unstructured) {
			kinds := []any{map[string]any{"group": "", "version": "v1", "kind": "ConfigMap", "custom": true}}
			if err := unstructured.SetNestedSlice(o.Object, kinds, "status", "childKinds"); err != nil {
				c.T.Fatal(err)
			}
		})
	}
	for why, row := range map[string]struct {
		manifest func(t *testing.T) string
		gvk      schema.GroupVersionKind
		away     bool             // the operator has observed that the kind was served
		then     func(c *cluster) // after the parent was deleted
		released bool
	}{
		"the kind came from an aggregated API":                     {func(t *testing.T) string { return finalized(t) }, configMaps, false, nil, false},
		"a CustomResourceDefinition defined the kind":              {ofGadgets, gadgets, false, nil, true},
		"an administrator says that the objects are gone":          {func(t *testing.T) string { return finalized(t) }, configMaps, false, recordAsCustom, true},
		"an administrator says so, and the operator knew the kind": {func(t *testing.T) string { return finalized(t) }, configMaps, true, recordAsCustom, true},
		"the parent skips its cleanup": {func(t *testing.T) string { return finalized(t) }, configMaps, false, func(c *cluster) {
			c.KubectlEdit(one, func(o *unstructured.Unstructured) {
				o.SetAnnotations(reconciletest.Plus(o.GetAnnotations(), v1.AnnotationSkipFinalize, "true"))
			})
		}, true},
	} {
		t.Run(why, func(t *testing.T) {
			c := settled(t, row.manifest(t))
			c.Refuse["kind "+row.gvk.Kind] = &kind.NotFoundError{GVK: row.gvk, APIServiceUnavailable: row.away}
			c.start()
			c.Settle()
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			c.Settle()
			if row.then != nil {
				if c.Released() {
					t.Fatal("the parent was released before")
				}
				row.then(c)
				c.Settle()
			}
			if got := c.Released(); got != row.released {
				t.Errorf("the parent is released: %v, want %v", got, row.released)
			}
			if row.released {
				return
			}
			for _, part := range []string{"cluster does not serve kind ConfigMap in v1", "kubectl get apiservices", v1.AnnotationSkipFinalize} {
				if got := c.Condition("apps", "one", "Ready"); !strings.Contains(got, part) {
					t.Errorf("condition %q, want %q in it", got, part)
				}
			}
			delete(c.Refuse, "kind "+row.gvk.Kind)
			c.controllers.queue.Add("apps")
			wantRequests(t, "the API is back", c.SettleWrites(), "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", releaseParent)
		})
	}
}
