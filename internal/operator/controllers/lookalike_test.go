package controllers

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// lookAlike creates an object of another owner with all labels and annotations of a child.
func (c *cluster) lookAlike(child string, owners ...metav1.OwnerReference) *unstructured.Unstructured {
	c.T.Helper()
	o := parse(c.T, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: copy}}")
	original := c.Find("configmaps", child)
	o.SetLabels(original.GetLabels())
	o.SetAnnotations(original.GetAnnotations())
	o.SetOwnerReferences(owners)
	o.SetUID("uid-copy")
	memserver.Own(o, "somebody", "", memserver.Usual.FieldsOf(o.Object))
	c.Store(configMap(o.GetName()), o)
	c.Deliver()
	return o.DeepCopy()
}

// TestCopiedLabelsDoNotMakeChildren copies the labels that identify a child, like a Service does to its EndpointSlices.
func TestCopiedLabelsDoNotMakeChildren(t *testing.T) {
	selective := frontOnly(t, apps)
	deleting := withSpec(t, apps, "whenDeleted: DeleteChildren")
	outliving := func(controller string) string {
		return with(t, controller, "    template: |\n      {{ range", "    deletionPolicy: Orphan\n    template: |\n      {{ range")
	}
	type step struct {
		do   func(*cluster)
		want []string // sorted
	}
	yieldsLess := []step{{func(c *cluster) { c.KubectlApply(newApp(withChildren("b"))) }, []string{"delete configmaps a", "status apps one"}}}
	stopsMatching := []step{{func(c *cluster) { c.KubectlApply(newApp(reconciletest.WithTier("back"))) }, []string{"delete configmaps a", "delete configmaps b", "get apps one"}}}
	controllerGoes := []step{
		{func(c *cluster) { c.startDeletion() }, []string{"delete configmaps a", "delete configmaps b", "status apps one"}},
		{func(c *cluster) { c.RemoveNow(configMap("a")); c.RemoveNow(configMap("b")) }, []string{"finalizers[] templatecontrollers apps"}},
	}
	for why, row := range map[string]struct {
		controller string
		steps      []step
	}{
		"the template yields the child no longer":                                  {apps, yieldsLess},
		"the template yields the child no longer, which was to outlive its parent": {outliving(apps), yieldsLess},
		"the parent stops matching":                                                {selective, stopsMatching},
		"the parent stops matching, which the child was to outlive":                {outliving(selective), stopsMatching},
		"the TemplateController goes, and takes its children":                      {deleting, controllerGoes},
		"the TemplateController goes, and leaves the children that are to stay": {outliving(deleting), []step{
			{func(c *cluster) { c.startDeletion() }, []string{"finalizers[] templatecontrollers apps", "status apps one"}},
		}},
		"the parent is gone, and the garbage collector has left the children for a while": {apps, []step{
			{func(c *cluster) {
				c.RemoveNow(locationOf(parse(t, app)))
			}, []string{}},
			{func(c *cluster) {
				c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
				c.ParentQueue.Add(keyOf("apps", "one"))
			}, []string{"delete configmaps a", "delete configmaps b", "get apps one"}},
		}},
	} {
		for whose, owners := range map[string]func(child *unstructured.Unstructured) []metav1.OwnerReference{
			"it has no owner": func(*unstructured.Unstructured) []metav1.OwnerReference { return nil },
			"it belongs to the child": func(child *unstructured.Unstructured) []metav1.OwnerReference {
				return []metav1.OwnerReference{*metav1.NewControllerRef(child, child.GroupVersionKind())}
			},
		} {
			t.Run(why+"; "+whose, func(t *testing.T) {
				c := newCluster(t)
				c.KubectlApply(row.controller)
				c.KubectlApply(app)
				c.Run()
				c.Deliver()
				before := c.lookAlike("a", owners(c.Find("configmaps", "a"))...)
				wantRequests(t, "the look-alike appears", c.Run())
				for i, s := range row.steps {
					s.do(c)
					requests := c.Run()
					slices.Sort(requests)
					wantRequests(t, fmt.Sprintf("step %d", i), requests, s.want...)
				}
				if diff := cmp.Diff(before, c.Find("configmaps", "copy")); diff != "" {
					t.Errorf("the look-alike changed:\n%s", diff)
				}
			})
		}
	}
}

// While parents are reconciled, the owner of such an object shows whose it is, but not when the TemplateController is
// deleted.
func TestDeletionKeepsLookAlikesControlledByParents(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	one := c.Find("apps", "one")
	c.lookAlike("a", *metav1.NewControllerRef(one, one.GroupVersionKind()))
	c.startDeletion()
	requests := c.Run()
	slices.Sort(requests)
	wantRequests(t, "it goes", requests, "delete configmaps a", "delete configmaps b", "status apps one")
	c.RemoveNow(configMap("a"))
	c.RemoveNow(configMap("b"))
	wantRequests(t, "the children are gone", c.Run(), "finalizers[] templatecontrollers apps")
}
