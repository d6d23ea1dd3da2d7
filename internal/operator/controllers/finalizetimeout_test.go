package controllers

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// heldBack returns a cluster with a parent whose children are deleted one after the other, and have finalizers that
// block that.
func heldBack(t *testing.T, manifest string) *cluster {
	t.Helper()
	c := settled(t, manifest)
	c.BlockDeletion()
	return c
}

// The timeout starts with the first full attempt, and starts again after an interruption. Each interruption lasts
// longer than the timeout.
func TestFinalizeTimeoutRestartsAfterInterruption(t *testing.T) {
	manifest := func(t *testing.T, more string) string {
		return with(t, finalized(t, ", timeout: 5m"), "spec:\n", "spec:\n"+more)
	}
	applies := func(c *cluster, text string) {
		c.KubectlApply(text)
		c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
		c.Run()
		c.Deliver()
	}
	refuse := func(c *cluster, err error) {
		c.Refuse["delete-foreground configmaps a"], c.Refuse["delete-foreground configmaps b"] = err, err
	}
	denied := refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `configmaps "a" is forbidden: User "x" cannot delete resource "configmaps" in API group "" in the namespace "ns"`)
	for why, row := range map[string]struct {
		begins, ends func(t *testing.T, c *cluster)
	}{
		"the TemplateController is suspended": {
			func(t *testing.T, c *cluster) { applies(c, manifest(t, "  suspend: true\n")) },
			func(_ *testing.T, c *cluster) {
				c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "spec", "suspend") })
			},
		},
		"templater does not run": {
			func(_ *testing.T, c *cluster) { c.standby() },
			func(_ *testing.T, c *cluster) { c.start() },
		},
		"the spec is rejected": {
			func(t *testing.T, c *cluster) {
				c.KubectlApply(with(t, manifest(t, ""), "{{ end }}", ""))
				c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
				c.loseRevisions()
				c.Run()
				c.Deliver()
			},
			func(t *testing.T, c *cluster) { applies(c, manifest(t, "")) },
		},
		"a permission is missing": {
			func(_ *testing.T, c *cluster) { refuse(c, denied) }, func(_ *testing.T, c *cluster) { clear(c.Refuse) },
		},
		"the server does not answer": {
			func(_ *testing.T, c *cluster) { refuse(c, errors.New("no answer")) }, func(_ *testing.T, c *cluster) { clear(c.Refuse) },
		},
		"the API of a child is not served": {
			func(_ *testing.T, c *cluster) { refuse(c, reconciletest.Unserved(configMap("a"))) }, func(_ *testing.T, c *cluster) { clear(c.Refuse) },
		},
		"children cannot be read": {
			func(_ *testing.T, c *cluster) {
				for want := range c.Caches {
					c.Silent[want] = c.Silent[want] || want.Resource.Resource == "configmaps"
				}
				c.start()
			},
			func(_ *testing.T, c *cluster) {
				clear(c.Silent)
				c.start()
			},
		},
		"templater does not run, and somebody has forged the note": {
			func(_ *testing.T, c *cluster) { c.standby() },
			func(_ *testing.T, c *cluster) {
				c.KubectlEdit(one, func(o *unstructured.Unstructured) {
					o.SetAnnotations(map[string]string{reconciletest.CleanupSince: "2020-01-01T00:00:00Z/uid-one"})
				})
				c.start()
			},
		},
	} {
		for _, first := range []bool{true, false} { // the interruption comes before the first attempt
			t.Run(fmt.Sprint(why, ", before the first attempt ", first), func(t *testing.T) {
				c := heldBack(t, manifest(t, ""))
				if first {
					row.begins(t, c)
				}
				c.KubectlDelete(one, metav1.DeletePropagationBackground)
				c.Run()
				c.Deliver()
				if !first {
					c.Advance(reconciletest.CleanupTimeout / 2)
					row.begins(t, c)
					c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers(nil) }) // b is next
				}
				c.Run()
				c.Advance(2 * reconciletest.CleanupTimeout)
				c.Run()
				c.Deliver()
				row.ends(t, c)
				for range 3 { // within the timeout
					c.Run()
					c.Deliver()
					c.ReconcileOne()
					if c.Released() {
						t.Fatalf("the parent is released at once; requests %q", c.Requests)
					}
					c.Advance(reconciletest.CleanupTimeout / 5)
				}
				c.Advance(reconciletest.CleanupTimeout)
				c.Run()
				c.Deliver()
				c.ReconcileOne()
				if !c.Released() {
					t.Errorf("the parent is not released after the timeout: %s", c.Condition("apps", "one", "Ready"))
				}
			})
		}
	}
}
