// Package reconciletest provides an in-memory cluster and fixtures for tests of reconcilers and controllers. Only tests
// import it.
package reconciletest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/kube/watch"
)

// Cluster is an in-memory API server with caches and the components under test. Each package sets its own Operator and
// Listener.
type Cluster struct {
	*Server
	*Watches
	Operator

	Keys      *seal.Keys // seal the children
	NoReviews bool       // missing permissions are not looked up
}

// NewCluster returns a cluster without objects.
func NewCluster(t testing.TB) *Cluster {
	t.Helper()
	server := newServer(t)
	c := &Cluster{Server: server, Watches: &Watches{server: server, Silent: map[watch.Want]bool{}}, Keys: KeysOf(t, "1")}
	c.Watches.Reset()
	return c
}

// KubectlApply applies an object like kubectl apply, and updates the caches. status and deletionTimestamp are only used
// when the object is created.
func (c *Cluster) KubectlApply(text string) *unstructured.Unstructured {
	c.T.Helper()
	o := memserver.Parse(c.T, text)
	gvk := o.GroupVersionKind()
	of, ok := Kinds[gvk.GroupKind()]
	uid := "uid-" + o.GetName()
	switch gvk.Kind {
	case v1.KindTemplateController:
		of, ok = kind.Kind{Resource: v1.Resource}, true
	case v1.KindNamespacedTemplateController:
		of, ok = kind.Kind{Resource: v1.NamespacedResource, Namespaced: true}, true
		uid = "uid-" + o.GetNamespace() + "-" + o.GetName()
	}
	if !ok {
		c.T.Fatalf("the fake cluster has no %s", gvk)
	}
	at := place(of, o)
	there := c.Objects[at]
	if there == nil {
		there = c.NewObject(at, o.Object)
		there.SetUID(types.UID(uid))
	} else {
		delete(o.Object, "status")
	}
	c.Store(at, memserver.Usual.Applied(there, o.Object, "kubectl", ""))
	c.Deliver()
	return c.Objects[at]
}

// KubectlEdit changes an object like kubectl edit, so that the user owns the changed fields, and updates the caches.
func (c *Cluster) KubectlEdit(at request.Location, change func(o *unstructured.Unstructured)) {
	c.T.Helper()
	next := c.Objects[at].DeepCopy()
	change(next)
	lists := memserver.Usual
	memserver.Deprive(next, lists.Differing(c.Objects[at].Object, next.Object, lists.FieldsOf(c.Objects[at].Object)))
	memserver.Deprive(next, lists.Differing(c.Objects[at].Object, next.Object, lists.FieldsOf(next.Object)))
	c.Store(at, next)
	c.Deliver()
}

// KubectlDelete deletes an object like kubectl delete, and updates the caches.
func (c *Cluster) KubectlDelete(at request.Location, propagation metav1.DeletionPropagation) {
	c.T.Helper()
	c.End(at, propagation)
	if propagation == metav1.DeletePropagationOrphan {
		c.KubectlEdit(at, func(o *unstructured.Unstructured) { o.SetFinalizers(append(o.GetFinalizers(), "orphan")) })
	}
	c.Deliver()
}

// Put stores a changed copy of an object, ignoring field managers, and updates the caches.
func (c *Cluster) Put(o *unstructured.Unstructured, change func(o *unstructured.Unstructured)) {
	c.T.Helper()
	o = o.DeepCopy()
	change(o)
	c.Store(LocationOf(o), o)
	c.Deliver()
}

// PutWithUID stores an object with that UID, and updates the caches.
func (c *Cluster) PutWithUID(text string, uid types.UID) {
	c.T.Helper()
	c.Put(memserver.Parse(c.T, text), func(o *unstructured.Unstructured) { o.SetUID(uid) })
}

// RemoveNow removes an object, ignoring its finalizers, and updates the caches.
func (c *Cluster) RemoveNow(at request.Location) {
	c.Remove(at)
	c.Deliver()
}

// RemoveLabels removes all labels of a ConfigMap.
func (c *Cluster) RemoveLabels(name string) {
	c.Put(c.Find("configmaps", name), func(o *unstructured.Unstructured) { o.SetLabels(nil) })
}

// ReplaceStatus sets the status of an object to the status in text.
func (c *Cluster) ReplaceStatus(text string) {
	c.T.Helper()
	o := memserver.Parse(c.T, text)
	c.KubectlEdit(LocationOf(o), func(there *unstructured.Unstructured) { there.Object["status"] = o.Object["status"] })
}

// SetJobStatus sets the status of a Job.
func (c *Cluster) SetJobStatus(name, status string) {
	c.T.Helper()
	parsed := memserver.Parse(c.T, "{kind: x, apiVersion: v1, status: "+status+"}")
	c.Put(c.Find("jobs", name), func(o *unstructured.Unstructured) { o.Object["status"] = parsed.Object["status"] })
}

// Find returns the object of a resource with that name in any namespace, or nil.
func (c *Cluster) Find(resource, name string) *unstructured.Unstructured {
	for at, o := range c.Objects {
		if at.Resource.Resource == resource && at.Name == name {
			return o
		}
	}
	return nil
}

// Released reports whether the parent One no longer exists.
func (c *Cluster) Released() bool { return c.Objects[One] == nil }

// Condition returns the condition of an object as "STATUS REASON: MESSAGE".
func (c *Cluster) Condition(resource, name, kind string) string {
	o := c.Find(resource, name)
	if o == nil {
		return "no " + name
	}
	return ConditionOf(o, kind)
}

// ConditionOf is Condition for an object.
func ConditionOf(o *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, each := range conditions {
		if m, ok := each.(map[string]any); ok && m["type"] == kind {
			return fmt.Sprintf("%s %s: %s", m["status"], m["reason"], m["message"])
		}
	}
	return "no condition " + kind
}

// StatusOf returns the status of an App, without conditions.
func (c *Cluster) StatusOf(name string) map[string]any {
	status, _, _ := unstructured.NestedMap(c.Find("apps", name).Object, "status")
	delete(status, "conditions")
	return status
}

// WantStatus compares the status of the parent One, without conditions.
func (c *Cluster) WantStatus(why string, want map[string]any) {
	c.T.Helper()
	if diff := cmp.Diff(want, c.StatusOf("one")); diff != "" {
		c.T.Errorf("%s: status (-want +got):\n%s", why, diff)
	}
}

// WantReady compares the ready condition of the parent One.
func (c *Cluster) WantReady(want string) {
	c.T.Helper()
	if got := c.Condition("apps", "one", "Ready"); got != want {
		c.T.Errorf("ready condition\n%s, want\n%s", got, want)
	}
}

// JobsOf returns "JOBS: NOTE" of a ConfigMap that Readers create.
func (c *Cluster) JobsOf(name string) string {
	o := c.Find("configmaps", name)
	if o == nil {
		return "no ConfigMap"
	}
	data, _ := o.Object["data"].(map[string]any)
	return fmt.Sprintf("%v: %v", data["jobs"], data["note"])
}
