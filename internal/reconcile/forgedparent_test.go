package reconcile_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// forged returns an object that another client has labeled as a child, with the address of its alleged parent.
func forged(t *testing.T, i int, address string) (request.Location, string) {
	t.Helper()
	at := farMap(fmt.Sprint("forged-", i))
	return at, fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata:
  namespace: far
  name: %s
  labels: {templater.dev/controller: apps, templater.dev/child: maps, templater.dev/parent-uid: nobody}
  annotations: {templater.dev/parent: %q}
`, at.Name, address)
}

// TestForgedChildrenCauseNoParentLookup labels objects as children of missing parents. No requests are sent for these parents, and they do not
// delay others.
func TestForgedChildrenCauseNoParentLookup(t *testing.T) {
	c := begun(t, frontOnly(t, tenants), tenant)
	for i, address := range []string{"ns/none", "elsewhere/none", "none", "ns/a/b", "ns/..", "../none", "ns/" + strings.Repeat("a", 1<<16), "ns/none%00"} {
		at, text := forged(t, i, address)
		c.PutWithUID(text, types.UID(at.Name))
		wantRequests(t, "an object appears that names the parent "+address[:min(len(address), 20)], c.Run())
		c.RemoveNow(at)
		wantRequests(t, "it is gone", c.Run())
	}
	c.start()
	for i := range 40 {
		at, text := forged(t, i, fmt.Sprint("ns/none-", i))
		c.PutWithUID(text, types.UID(at.Name))
	}
	wantRequests(t, "objects that name many are there when the operator begins", c.Run())
}

// TestForgedParentNameTakesNoDeletionSlot repeatedly edits a child to name another missing parent. These parents do not delay others, and no
// requests are sent for them.
func TestForgedParentNameTakesNoDeletionSlot(t *testing.T) {
	names := func(address string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			notes := o.GetAnnotations()
			notes["templater.dev/parent"] = address
			o.SetAnnotations(notes)
		}
	}
	owned := func(name string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			owners := o.GetOwnerReferences()
			owners[0].Name = name
			o.SetOwnerReferences(owners)
		}
	}
	const ofOwner = "maps\n    scope: Cluster"
	for why, row := range map[string]struct {
		spec, parent string
		change       func(i int) func(*unstructured.Unstructured)
	}{
		"by its annotation":                       {tenants, tenant, func(i int) func(*unstructured.Unstructured) { return names(fmt.Sprint("ns/none-", i)) }},
		"in namespaces that are not there":        {tenants, tenant, func(i int) func(*unstructured.Unstructured) { return names(fmt.Sprintf("none-%d/one", i)) }},
		"by its owner reference":                  {with(t, tenants, ofOwner, "maps"), newTenant(reconciletest.WithSpace("ns")), func(i int) func(*unstructured.Unstructured) { return owned(fmt.Sprint("none-", i)) }},
		"by its annotation, outliving its parent": {with(t, tenants, ofOwner, "maps\n    deletionPolicy: Orphan"), newTenant(reconciletest.WithSpace("ns")), func(i int) func(*unstructured.Unstructured) { return names(fmt.Sprint("none-", i)) }},
	} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, frontOnly(t, row.spec), row.parent)
			c.Refuse["update configmaps a"] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request`)
			c.Refuse["mark configmaps a"] = c.Refuse["update configmaps a"]
			at := farMap("a")
			if c.Objects[at] == nil {
				at = configMap("a")
			}
			for i := range 100 {
				c.KubectlEdit(at, row.change(i))
				for _, request := range c.Run() {
					if strings.HasPrefix(request, "get ") {
						t.Fatalf("name %d: %s", i, request)
					}
				}
			}
			c.start()
			for _, request := range c.Run() {
				if strings.HasPrefix(request, "get apps none") {
					t.Errorf("after a restart: %s", request)
				}
			}
			clear(c.Refuse)
			c.KubectlApply(with(t, row.parent, "tier: front", "tier: back"))
			if requests := c.Run(); len(requests) == 0 || requests[0] != "get apps one" {
				t.Errorf("a parent that leaves has to wait: %q", requests)
			}
		})
	}
}

// TestChildOfExistingParentIsNotOrphaned edits a child to name a missing parent or another one. The child must not be treated as an orphan.
func TestChildOfExistingParentIsNotOrphaned(t *testing.T) {
	for why, address := range map[string]string{"nobody": "ns/none", "another parent": "ns/two"} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, tenants, tenant)
			c.PutWithUID(with(t, tenant, "name: one", "name: two", "[a]", "[b]", "role: r", "role: s"), "two")
			c.Run()
			c.Deliver()
			c.Run()
			c.Refuse["update configmaps a"] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request`)
			c.KubectlEdit(farMap("a"), func(o *unstructured.Unstructured) {
				notes := o.GetAnnotations()
				notes["templater.dev/parent"] = address
				o.SetAnnotations(notes)
			})
			c.Run()
			c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
			requests := c.Run()
			if slices.Contains(requests, "delete configmaps a") || c.Objects[farMap("a")] == nil {
				t.Errorf("the child is deleted: %q", requests)
			}
			delete(c.Refuse, "update configmaps a")
			c.KubectlApply(newTenant(withTier("back")))
			c.Run()
			if got := c.Objects[farMap("a")].GetAnnotations()["templater.dev/parent"]; got != "ns/one" {
				t.Errorf("it says that it is of %s", got)
			}
		})
	}
}
