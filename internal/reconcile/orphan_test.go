package reconcile_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// letsGo does what the garbage collector does for a parent that is deleted without its dependents. The watches deliver the changes of the
// dependents later.
func (c *cluster) letsGo() {
	c.T.Helper()
	c.KubectlEdit(one, func(o *unstructured.Unstructured) {
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(name string) bool { return name == "orphan" }))
	})
	for at, o := range c.Objects {
		if at != one && len(o.GetOwnerReferences()) > 0 {
			free := o.DeepCopy()
			free.SetOwnerReferences(nil)
			c.Store(at, free)
		}
	}
}

// The garbage collector removes the finalizer orphan without waiting for templater.
func TestOrphansSurviveEarlyGarbageCollection(t *testing.T) {
	denied := refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `configmaps "a" is forbidden: User "x" cannot patch resource "configmaps" in API group "" in the namespace "far"`)
	for why, row := range map[string]struct {
		manifest, parent string
		first            func(c *cluster) // what happens first after the deletion
		want             []string
	}{
		"before the first reconciliation": {tenants, tenant, (*cluster).letsGo, []string{noteDone, "mark clusterroles r", "mark configmaps a", releaseParent}},
		"after a reconciliation that could not mark everything, and before a restart": {tenants, tenant, func(c *cluster) {
			c.Refuse["mark configmaps a"] = denied
			c.Settle()
			c.letsGo()
			delete(c.Refuse, "mark configmaps a")
			c.start()
		}, []string{"mark configmaps a", releaseParent}},
		"between the note and the release": {tenants, tenant, func(c *cluster) {
			c.During = func() {
				if c.Requests[len(c.Requests)-1] == "mark clusterroles r" {
					c.During = func() {}
					c.letsGo()
				}
			}
		}, []string{noteDone, "mark clusterroles r", "mark configmaps a", "finalizers[orphan] apps one", releaseParent}},
		// the watch shows owner references that are already removed: the API server rejects their removal
		"children with owners, in order": {finalized(t), app, (*cluster).letsGo, []string{noteDone, "mark configmaps a", releaseParent}},
		"finalize children, after a reconciliation": {withBackup(t), app, func(c *cluster) {
			c.Run() // writes the note
			c.letsGo()
			c.Deliver()
		}, []string{releaseParent}},
	} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, row.manifest, row.parent)
			c.Settle()
			there := len(c.Objects)
			c.KubectlDelete(one, metav1.DeletePropagationOrphan)
			row.first(c)
			got := c.SettleWrites()
			slices.Sort(got)
			slices.Sort(row.want)
			wantRequests(t, why, got, row.want...)
			if c.Objects[one] != nil || len(c.Objects) != there-1 {
				t.Errorf("%d objects are left, want %d; the parent is %v", len(c.Objects), there-1, c.Objects[one])
			}
			wantRequests(t, "once more", c.SettleWrites())
			if n := reconciletest.Lengths(t, c.shared.Orphaning, "parents"); n > 0 {
				t.Errorf("%d parents are remembered", n)
			}
		})
	}
}

// A parent is deleted, and the garbage collector orphans its children, during a reconciliation that has already read the parent.
func TestOrphansSurviveDeletionDuringReconciliation(t *testing.T) {
	for why, row := range map[string]struct {
		at   string // the request during which that happens
		want []string
	}{
		"while the status is written": {"status", []string{"update configmaps a", "update configmaps b", "status apps one", noteDone, "mark configmaps a", releaseParent}},
		// both children have regained their owner references
		"while a child is written": {"update configmaps a", []string{"update configmaps a", "update configmaps b", "status apps one", noteDone, "mark configmaps a", "mark configmaps b", releaseParent}},
	} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, finalized(t), app)
			c.Settle()
			c.KubectlEdit(one, func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(o.Object, "edited", "spec", "text")
			})
			c.During = func() {
				if !strings.HasPrefix(c.Requests[len(c.Requests)-1], row.at) {
					return
				}
				c.During = nil
				c.KubectlDelete(one, metav1.DeletePropagationOrphan)
				c.letsGo()
			}
			there := len(c.Objects)
			wantRequests(t, why, c.SettleWrites(), row.want...)
			if c.During != nil {
				t.Error("there was no reconciliation beside the deletion")
			}
			if c.Objects[one] != nil || len(c.Objects) != there-1 {
				t.Errorf("%d objects are left, want %d; the parent is %v", len(c.Objects), there-1, c.Objects[one])
			}
			for at, o := range c.Objects {
				if len(o.GetOwnerReferences()) > 0 {
					t.Errorf("%s is bound to a parent that is gone", at.Name)
				}
			}
			wantRequests(t, "once more", c.SettleWrites())
			if n := reconciletest.Lengths(t, c.shared.Orphaning, "parents"); n > 0 {
				t.Errorf("%d parents are remembered", n)
			}
		})
	}
}

// The watch of the parents shows a parent that is already deleted, because it had no finalizer of templater. The garbage collector would delete
// a child with an owner reference to it.
func TestDeletedParentGetsNoOwnerReferences(t *testing.T) {
	for why, row := range map[string]struct {
		manifest string
		failure  error
		again    bool // whether another object has the parent's name
	}{
		"the watch is behind":                     {apps, nil, false},
		"the watch has failed":                    {apps, errors.New("no answer"), false},
		"there is another parent of that name":    {apps, nil, true},
		"the strategy restores nothing but marks": {withTemplate(t, apps, "updateStrategy: {type: CreateOnly}"), nil, false},
	} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, row.manifest, app)
			for want := range c.Caches {
				c.Silent[want] = want.Role == watch.Parent
			}
			if row.failure != nil {
				c.FailWatches("apps", row.failure)
			}
			again := c.Objects[one].DeepCopy()
			c.Remove(one)
			if again.SetUID("uid-again"); row.again {
				c.Store(one, again)
			}
			for _, name := range []string{"a", "b"} {
				c.KubectlEdit(configMap(name), func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) })
			}
			_, got := c.Reconcile("apps", "one")
			wantRequests(t, why, got, "get apps one", "status apps one")
			c.CollectGarbage()
			for _, name := range []string{"a", "b"} {
				if o := c.Find("configmaps", name); o == nil || len(o.GetOwnerReferences()) > 0 {
					t.Errorf("%s is %v, want it without an owner", name, o)
				}
			}
		})
	}
}

// A child has regained its owner reference, and templater is not allowed to remove it.
func TestParentIsKeptWhileOrphanHasOwnerReference(t *testing.T) {
	c := begun(t, finalized(t), app)
	c.Settle()
	c.KubectlDelete(one, metav1.DeletePropagationOrphan)
	c.Run() // writes the note
	c.KubectlEdit(one, func(o *unstructured.Unstructured) {
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(name string) bool { return name == "orphan" }))
	})
	const release = "mark configmaps a"
	c.Refuse[release] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `configmaps "a" is forbidden: User "x" cannot patch resource "configmaps" in API group "" in the namespace "ns"`)
	c.Settle()
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False ChildForbidden: cannot release ConfigMap ns/a: ") {
		t.Errorf("condition %q", got)
	}
	delete(c.Refuse, release)
	wantRequests(t, "with the right", c.SettleWrites(), release, "mark configmaps b", releaseParent)
	for _, name := range []string{"a", "b"} {
		if o := c.Objects[configMap(name)]; o == nil || len(o.GetOwnerReferences()) > 0 {
			t.Errorf("%s is %v, want it without owner", name, o)
		}
	}
}

// The manifest of a parent that was being deleted is saved and applied again.
func TestTeardownAnnotationsAreBoundToParentUID(t *testing.T) {
	t.Run("its children were to stay", func(t *testing.T) {
		c := begun(t, finalized(t), app)
		c.KubectlEdit(one, func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{v1.FinalizerParentPrefix + "apps": "children-stay/uid-of-another"})
		})
		c.Settle()
		c.KubectlDelete(one, metav1.DeletePropagationBackground)
		wantRequests(t, "deletion", c.SettleWrites(), "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", releaseParent)
	})
	for why, value := range map[string]string{"another parent": "children-finished/uid-of-another", "nobody": "children-finished"} {
		t.Run("its backup was made, says "+why, func(t *testing.T) {
			c := begun(t, withBackup(t, "timeout: 0s"), app)
			c.KubectlEdit(one, func(o *unstructured.Unstructured) {
				o.SetAnnotations(map[string]string{v1.FinalizerParentPrefix + "apps": value})
			})
			c.Settle()
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			wantRequests(t, "deletion", c.SettleWrites(), "create jobs backup", "status apps one")
		})
	}
}

// A watch reports a parent that stops matching as deleted.
func TestOrphansOfUnmatchedParentAreKept(t *testing.T) {
	unlabel := func(c *cluster) { c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetLabels(nil) }) }
	for why, row := range map[string]struct {
		manifest, parent string
		first            func(c *cluster) // what happens first after the deletion
		want             []string
	}{
		"children elsewhere": {frontOnly(t, tenants), tenant, unlabel, []string{"mark clusterroles r", "mark configmaps a", "finalizers[orphan] apps one"}},
		"the garbage collector is first": {frontOnly(t, tenants), tenant, func(c *cluster) {
			unlabel(c)
			c.letsGo()
		}, []string{"mark clusterroles r", "mark configmaps a", releaseParent}},
		"the garbage collector is between two tries": {frontOnly(t, tenants), tenant, func(c *cluster) {
			unlabel(c)
			c.Refuse["mark configmaps a"] = refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no")
			c.Run()
			c.letsGo()
			delete(c.Refuse, "mark configmaps a")
		}, []string{"mark configmaps a", releaseParent}},
		"children with owners": {frontOnly(t, finalized(t)), with(t, app, "name: one", "name: one, labels: {tier: front}"), unlabel, []string{"finalizers[orphan] apps one"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, row.manifest, row.parent)
			c.Settle()
			there := len(c.Objects)
			c.KubectlDelete(one, metav1.DeletePropagationOrphan)
			row.first(c)
			got := c.SettleWrites()
			slices.Sort(got)
			slices.Sort(row.want)
			wantRequests(t, why, got, row.want...)
			if c.Objects[one] != nil {
				c.letsGo()
			}
			c.Settle()
			c.start()
			wantRequests(t, "a long time later", c.SettleWrites())
			if c.Objects[one] != nil || len(c.Objects) != there-1 {
				t.Errorf("%d objects are left, want %d; the parent is %v", len(c.Objects), there-1, c.Objects[one])
			}
			if n := reconciletest.Lengths(t, c.shared.Orphaning, "parents"); n > 0 {
				t.Errorf("%d parents are remembered", n)
			}
		})
	}
}

// strays adds a child of an earlier parent with the name one.
func (c *cluster) strays(name string) {
	c.T.Helper()
	o := c.Objects[farMap("a")].DeepCopy()
	o.SetName(name)
	o.SetUID("uid-stray")
	labels := o.GetLabels()
	labels[v1.LabelParentUID] = "uid-earlier"
	o.SetLabels(labels)
	c.Seal(o)
	c.Store(farMap(name), o)
	c.Deliver()
}

// A parent is deleted with --cascade=orphan while templater deletes children of an earlier parent with the same name.
func TestOrphaningSurvivesCleanupOfEarlierParent(t *testing.T) {
	c := begun(t, tenants, tenant)
	c.strays("old")
	c.Run()
	c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
	c.During = func() {
		if c.Requests[len(c.Requests)-1] == "delete configmaps old" {
			c.During = nil
			c.KubectlDelete(one, metav1.DeletePropagationOrphan)
			c.letsGo()
		}
	}
	wantRequests(t, "the parent goes, and its children stay", c.SettleWrites(), "delete configmaps old", noteDone, "mark configmaps a", "mark clusterroles r", releaseParent)
	if c.Objects[farMap("a")] == nil || c.Objects[clusterRole] == nil {
		t.Error("a child was deleted")
	}
	if n := reconciletest.Lengths(t, c.shared.Orphaning, "parents"); n > 0 {
		t.Errorf("%d parents are remembered", n)
	}
}

// Unreadable children may need the finalizer.
func TestFinalizerIsKeptWhileChildrenAreUnreadable(t *testing.T) {
	c := begun(t, tenants, with(t, tenant, "role: r", "role: ''"))
	c.KubectlApply(with(t, tenants, "  - name: maps\n    scope: Cluster\n", "  - name: maps\n    scope: Cluster\n    deletionPolicy: Orphan\n", "  - name: role\n    scope: Cluster\n", "  - name: role\n"))
	c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
	c.hidesConfigMaps(t)
	c.Settle()
	if finalizers := c.Objects[one].GetFinalizers(); len(finalizers) != 1 {
		t.Errorf("the parent has the finalizers %q", finalizers)
	}
}

// After a restart, templater cannot detect that a parent was deleted with --cascade=orphan, once the garbage collector has begun.
func TestOwnedChildrenAreLeftToGarbageCollector(t *testing.T) {
	c := begun(t, frontOnly(t, finalized(t)), with(t, app, "name: one", "name: one, labels: {tier: front}, finalizers: [example.org/slow]"))
	c.Settle()
	c.KubectlDelete(one, metav1.DeletePropagationOrphan)
	c.KubectlEdit(one, func(o *unstructured.Unstructured) { // before any reconciliation, and the garbage collector has begun
		o.SetLabels(nil)
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(name string) bool { return name == "orphan" }))
	})
	c.start() // all state is lost
	for _, request := range c.Run() {
		if strings.HasPrefix(request, "delete") {
			t.Errorf("request %q", request)
		}
	}
}

// A webhook denies the annotation of an orphaned child with the status code of a missing object. Without an owner reference or annotation, the
// child would be deleted as an orphan after the parent's release.
func TestParentIsKeptUntilOrphansAreAnnotated(t *testing.T) {
	child := configMap("a")
	child.Namespace = "far"
	for why, err := range map[string]error{
		"404": refusal(http.StatusNotFound, metav1.StatusReasonNotFound, `admission webhook "no.example.org" denied the request: no`),
		"409": refusal(http.StatusConflict, metav1.StatusReasonConflict, `admission webhook "no.example.org" denied the request: no`),
	} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, tenants, tenant)
			c.Refuse["mark configmaps a"] = err
			c.KubectlDelete(one, metav1.DeletePropagationOrphan)
			for range 2 {
				c.Settle()
				c.Clock.SetTime(c.Clock.Now().Add(2 * queue.CollectorTime))
			}
			if c.Objects[one] == nil || c.Objects[child] == nil {
				t.Fatal("the parent is released, or the child is deleted")
			}
			c.WantReady(`False ChildRejected: cannot mark ConfigMap far/a: denied by admission webhook "no.example.org"`)
			clear(c.Refuse)
			c.Settle()
			if got := c.Objects[child]; c.Objects[one] != nil && !slices.Equal(c.Find("apps", "one").GetFinalizers(), []string{"orphan"}) || got == nil {
				t.Errorf("the parent is not released, or the child is deleted: %v", got)
			}
		})
	}
}
