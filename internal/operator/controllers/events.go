package controllers

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// Changed turns the change of an object into the keys that it concerns. Own
// writes that come back concern nobody but other controllers. While another replica leads, nobody
// looks at parents.
func (c *Controllers) Changed(want watch.Want, event watch.Event) {
	if c.standby.Load() && want.Role != watch.Definition && want.Role != watch.Controller {
		return
	}
	switch want.Role {
	case watch.Parent:
		c.parentChanged(want, event)
	case watch.Child:
		if event.New == nil {
			c.departed.Note(event.Old)
		}
		delay := c.lossDelay(event)
		c.childChanged(want, event.Old, event.Writer, delay)
		c.childChanged(want, event.New, event.Writer, delay)
	case watch.Related:
		c.relatedChanged(want, event)
	case watch.Namespace:
		c.namespaceChanged(want, event)
	case watch.Definition:
		c.definitionChanged(event)
	case watch.Controller:
		if event.Writer == "" {
			c.queue.Add(either(event).Name())
		}
	case watch.Seal, watch.Webhook: // the operator sees to them
	}
}

// StateChanged has the controllers look again whose caches have synced, failed or recovered.
func (c *Controllers) StateChanged(want watch.Want) {
	switch want.Role {
	case watch.Definition, watch.Controller, watch.Seal, watch.Webhook: // wanted by the operator itself
	case watch.Parent, watch.Child, watch.Related, watch.Namespace:
		for _, name := range c.watches.Owners(want) {
			c.queue.Add(name)
		}
	}
}

func either(e watch.Event) *object.Object {
	if e.New != nil {
		return e.New
	}
	return e.Old
}

func (c *Controllers) parentChanged(want watch.Want, event watch.Event) {
	o := either(event)
	name := o.Key()
	for _, controller := range c.watches.Owners(want) {
		key := queue.Key{Controller: controller, Parent: name}
		c.noteOrphaning(key, o)
		if controller != event.Writer {
			c.parents.Add(key)
		}
	}
}

// noteOrphaning remembers a parent that is deleted without its dependents. The garbage collector may end that before the next pass.
func (c *Controllers) noteOrphaning(key queue.Key, parent *object.Object) {
	if parent.HasFinalizer(v1.FinalizerParentPrefix+key.Controller) && plan.CascadesOrphan(parent) {
		c.orphaning.Note(key, parent.UID())
	}
}

// lossDelay returns how long to wait until a child that is suddenly gone is missed: the garbage
// collector may have taken it with a parent whose own deletion another
// watch is still to bring.
func (c *Controllers) lossDelay(event watch.Event) time.Duration {
	if event.New == nil && !event.Old.Deleting() {
		return c.patience
	}
	return 0
}

func (c *Controllers) childChanged(want watch.Want, o *object.Object, writer string, delay time.Duration) {
	if o == nil {
		return
	}
	name := o.Label(v1.LabelController)
	if name == writer {
		return
	}
	c.mu.RLock()
	e := c.tracked[name]
	var running *running.Controller
	if e != nil {
		running = e.current
	}
	c.mu.RUnlock()
	switch {
	case e == nil:
		return
	case running == nil:
		c.queue.Add(strings.Clone(name)) // it may be waiting for its children to be gone
		return
	}
	source, reads := running.ReadBy(want)
	if !reads {
		return // another watch tells it
	}
	if parent, concerned := running.Concerned(o, source.Kind.GroupKind()); concerned {
		c.parents.AddAfter(queue.Key{Controller: running.Name, Parent: parent}, delay) // not name, which is a part of the child's text
	}
}

func (c *Controllers) namespaceChanged(want watch.Want, event watch.Event) {
	if event.Old != nil && event.New != nil && event.Old.SameLabels(event.New) {
		return
	}
	ns := either(event).Name()
	for _, name := range c.watches.Owners(want) {
		running := c.get(name)
		if running == nil {
			continue
		}
		c.relatedNamespaceChanged(running, want, event)
		if running.NamespaceSelector == nil {
			continue
		}
		for _, cache := range running.Parents {
			cache.Each(func(o *object.Object) bool {
				if o.Namespace() == ns {
					c.parents.Add(queue.Key{Controller: name, Parent: o.Key()})
				}
				return true
			})
		}
	}
}

// definitionChanged has the controllers look again that know the kind, or miss it.
func (c *Controllers) definitionChanged(event watch.Event) {
	for _, definition := range []*object.Object{event.Old, event.New} { // an edit may have changed the kind's name
		if definition != nil {
			c.kindChanged(kind.Defined(definition))
			c.KindLearned(kind.Defined(definition))
		}
	}
}

func (c *Controllers) kindChanged(gk schema.GroupKind) {
	for _, name := range c.names(func(e *tracked) bool {
		_, child := e.childKinds[gk]
		parent := e.compiled != nil && (e.rejection == nil || e.current != nil) && e.compiled.GVK.GroupKind() == gk
		return child || parent || e.compiled != nil && e.compiled.RelatesTo(gk)
	}) {
		c.queue.Add(name)
	}
	for _, name := range c.names(func(e *tracked) bool { return e.missing[gk] }) {
		if running := c.get(name); running != nil {
			c.enqueueAll(running)
		}
	}
}
