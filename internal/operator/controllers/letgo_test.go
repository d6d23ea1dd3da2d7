package controllers

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
)

// TestDeletionAfterTheStatusWasLost: the TemplateController's own finalizer reports as well that parents may have one.
func TestDeletionAfterTheStatusWasLost(t *testing.T) {
	for name, spec := range map[string]string{
		"the spec needs the finalizer":        finalized(t),
		"the spec needs no finalizer anymore": apps,
	} {
		t.Run(name, func(t *testing.T) {
			c := settled(t, finalized(t))
			c.KubectlApply(spec)
			c.KubectlEdit(appsController, func(o *unstructured.Unstructured) {
				o.SetFinalizers([]string{"templater.dev/children"})
				_ = unstructured.SetNestedField(o.Object, false, "status", "finalizes")
			})
			c.KubectlDelete(appsController, metav1.DeletePropagationBackground)
			wantRequests(t, "it is deleted", c.Settle(), "status apps one", "list apps everywhere", releaseParent, "list apps everywhere", givenUp)
			if c.Objects[appsController] != nil {
				t.Error("the TemplateController is not gone")
			}
			if held := c.Objects[one].GetFinalizers(); len(held) > 0 {
				t.Errorf("the parent has the finalizers %v", held)
			}
		})
	}
}

// TestStraysAreFoundAfterTheStatusWasLost: a parent that has stopped matching keeps a finalizer that no watch shows.
func TestStraysAreFoundAfterTheStatusWasLost(t *testing.T) {
	for name, spec := range map[string]string{
		"the spec needs the finalizer":        frontOnly(t, finalized(t)),
		"the spec needs no finalizer anymore": frontOnly(t, apps),
	} {
		t.Run(name, func(t *testing.T) {
			c := settled(t, frontOnly(t, finalized(t)))
			for _, name := range []string{"a", "b"} {
				c.Remove(configMap(name)) // so that no child names the parent
			}
			stray := c.Objects[one].DeepCopy()
			stray.SetLabels(nil)
			c.Store(one, stray)
			c.KubectlApply(spec)
			c.KubectlEdit(appsController, func(o *unstructured.Unstructured) {
				o.SetFinalizers([]string{v1.FinalizerChildren})
				delete(o.Object, "status")
			})
			c.start()
			c.Settle()
			if held := c.Objects[one].GetFinalizers(); len(held) > 0 {
				t.Errorf("the parent that matches no longer has the finalizers %v", held)
			}
			wantRequests(t, "afterwards", c.Settle())
		})
	}
}
