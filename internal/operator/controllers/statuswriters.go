package controllers

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// MayWrite reports whether the named TemplateController may write the status of a parent of that kind. It may not if it is deleted, watches
// another kind, no longer selects the parent, or is not accepted: anybody can use its field manager then.
func (c *Controllers) MayWrite(name string, kind schema.GroupKind, parent types.NamespacedName) bool {
	packed := c.cache.Get(types.NamespacedName{Name: name})
	if packed == nil {
		return !running.Readable(c.cache) // it may exist all the same
	}
	if WatchedKind(packed) != kind {
		return false
	}
	other := c.get(name)
	if other == nil {
		return accepted(packed)
	}
	return !other.Current(parent.Namespace) || other.Parent(parent) != nil
}

// accepted reports whether an installation accepted the TemplateController, at this or an earlier generation. Authors cannot write that
// condition. It stays true during a handover to another class, so that the fields wait for the new installation.
func accepted(packed *object.Object) bool {
	return meta.IsStatusConditionTrue(Conditions(packed), v1.ConditionAccepted)
}

// Conditions returns the conditions of a TemplateController.
func Conditions(packed *object.Object) (conditions []metav1.Condition) {
	if err := packed.Unmarshal(&conditions, "status", "conditions"); err != nil {
		return nil // the schema rules it out
	}
	return conditions
}

// WatchedKind returns the kind of the parents of a TemplateController, as its spec has it.
func WatchedKind(packed *object.Object) schema.GroupKind {
	return schema.FromAPIVersionAndKind(packed.Text("spec", "watch", "apiVersion"), packed.Text("spec", "watch", "kind")).GroupKind()
}

// requeueContested has parents looked at again of whose status a part is left to another TemplateController, which may
// have let go of it: one of that name, or all where it is empty.
func (c *Controllers) requeueContested(parent types.NamespacedName) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for name, e := range c.tracked {
		e.counts.EachContested(parent, func(at types.NamespacedName) {
			c.parents.Add(queue.Key{Controller: name, Parent: at})
		})
	}
}

// rival returns another TemplateController that wants the same ready condition, the first by name, and of how many parents. Both of two see the same number,
// whichever owns the condition of which parent. The lock is held.
func (c *Controllers) rival(name string, e *tracked) (rival string, parents int64) {
	for other, o := range c.tracked {
		if n := e.counts.Rivals[other] + o.counts.Rivals[name]; n > 0 && (rival == "" || other < rival) {
			rival, parents = other, n
		}
	}
	for other, n := range e.counts.Rivals { // another installation may serve it
		if c.tracked[other] == nil && (rival == "" || other < rival) {
			rival, parents = other, n
		}
	}
	return rival, parents
}

// requeueRivals has the conditions of these TemplateControllers written anew; "" stands for none.
func (c *Controllers) requeueRivals(names []string) {
	for _, name := range names {
		if name != "" {
			c.queue.AddAfter(name, countsDelay)
		}
	}
}
