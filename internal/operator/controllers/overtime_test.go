package controllers

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
)

const askTime = "get apps one"

const since = v1.AnnotationCleanupSincePrefix + "apps"

// heldBack is a cluster with a parent whose children are deleted one after the other, and somebody keeps both from being deleted.
func heldBack(t *testing.T, manifest string) *cluster {
	t.Helper()
	c := finalizes(t, manifest)
	for name, level := range map[string]string{"a": "1", "b": "0"} {
		c.edit(configMap(name), func(o *unstructured.Unstructured) {
			o.SetFinalizers([]string{"example.org/slow"})
			o.SetAnnotations(plus(o.GetAnnotations(), v1.AnnotationOrder, level))
			c.seal(o)
		})
	}
	return c
}

// passes has time pass, by the clocks of the operator and of the server.
func (c *cluster) passes(d time.Duration) { c.clock.SetTime(c.clock.Now().Add(d)) }

// released reports whether the parent has been released.
func (c *cluster) released() bool { return c.Objects[one] == nil }

// once reconciles the parent, as for an event, and has the watches bring what was written.
func (c *cluster) once() []string {
	c.t.Helper()
	_, requests := c.pass("apps", "one")
	c.deliver()
	return requests
}

const minutes = 5 * time.Minute

// The clock starts with the first full attempt, and starts again after an interruption: each of these lasts longer than the timeout.
func TestTimeoutStartsAgainAfterAnInterruption(t *testing.T) {
	manifest := func(t *testing.T, more string) string {
		return with(t, ordered(t, ", timeout: 5m"), "spec:\n", "spec:\n"+more)
	}
	applies := func(c *cluster, text string) {
		c.apply(text)
		c.edit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
		c.run()
		c.deliver()
	}
	refuse := func(c *cluster, err error) {
		c.refuse["delete-foreground configmaps a"], c.refuse["delete-foreground configmaps b"] = err, err
	}
	denied := answer(http.StatusForbidden, metav1.StatusReasonForbidden, `configmaps "a" is forbidden: User "x" cannot delete resource "configmaps" in API group "" in the namespace "ns"`)
	for why, row := range map[string]struct {
		begins, ends func(t *testing.T, c *cluster)
	}{
		"the TemplateController is suspended": {
			func(t *testing.T, c *cluster) { applies(c, manifest(t, "  suspend: true\n")) },
			func(_ *testing.T, c *cluster) {
				c.edit(appsController, func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "spec", "suspend") })
			},
		},
		"templater does not run": {
			func(_ *testing.T, c *cluster) { c.standby() },
			func(_ *testing.T, c *cluster) { c.start() },
		},
		"the spec is rejected": {
			func(t *testing.T, c *cluster) { applies(c, with(t, manifest(t, ""), "{{ end }}", "")) },
			func(t *testing.T, c *cluster) { applies(c, manifest(t, "")) },
		},
		"a permission is missing": {
			func(_ *testing.T, c *cluster) { refuse(c, denied) }, func(_ *testing.T, c *cluster) { clear(c.refuse) },
		},
		"the server does not answer": {
			func(_ *testing.T, c *cluster) { refuse(c, errors.New("no answer")) }, func(_ *testing.T, c *cluster) { clear(c.refuse) },
		},
		"the API of a child is not served": {
			func(_ *testing.T, c *cluster) { refuse(c, unserved(configMap("a"))) }, func(_ *testing.T, c *cluster) { clear(c.refuse) },
		},
		"children cannot be read": {
			func(_ *testing.T, c *cluster) {
				for want := range c.caches {
					c.silent[want] = c.silent[want] || want.Resource.Resource == "configmaps"
				}
				c.start()
			},
			func(_ *testing.T, c *cluster) {
				clear(c.silent)
				c.start()
			},
		},
		"templater does not run, and somebody has forged the note": {
			func(_ *testing.T, c *cluster) { c.standby() },
			func(_ *testing.T, c *cluster) {
				c.edit(one, func(o *unstructured.Unstructured) {
					o.SetAnnotations(map[string]string{since: "2020-01-01T00:00:00Z/uid-one"})
				})
				c.start()
			},
		},
	} {
		for _, first := range []bool{true, false} { // whether the interruption comes before the first attempt
			t.Run(fmt.Sprint(why, ", before the first attempt ", first), func(t *testing.T) {
				c := heldBack(t, manifest(t, ""))
				if first {
					row.begins(t, c)
				}
				c.deletes(one, metav1.DeletePropagationBackground)
				c.run()
				c.deliver()
				if !first {
					c.passes(minutes / 2)
					row.begins(t, c)
					c.edit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers(nil) }) // b is next
				}
				c.run()
				c.passes(2 * minutes)
				c.run()
				c.deliver()
				row.ends(t, c)
				for range 3 { // within the timeout
					c.run()
					c.deliver()
					c.once()
					if c.released() {
						t.Fatalf("the parent is released at once; requests %q", c.requests)
					}
					c.passes(minutes / 5)
				}
				c.passes(minutes)
				c.run()
				c.deliver()
				c.once()
				if !c.released() {
					t.Errorf("the parent is not released after the timeout: %s", c.condition("apps", "one", "Ready"))
				}
			})
		}
	}
}
