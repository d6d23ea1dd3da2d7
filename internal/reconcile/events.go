package reconcile

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/watch"
)

// Changed turns the change of an object into the keys that it concerns. Own
// writes that come back concern nobody but other controllers.
func (c *Controllers) Changed(want watch.Want, event watch.Event) {
	switch want.Role {
	case watch.Parent:
		c.parentChanged(want, event)
	case watch.Child:
		delay := c.lossDelay(event)
		c.childChanged(event.Old, event.Writer, delay)
		c.childChanged(event.New, event.Writer, delay)
	case watch.Namespace:
		c.namespaceChanged(event)
	case watch.Definition:
		c.definitionChanged(either(event))
	case watch.Controller:
		if event.Writer == "" {
			c.queue.Add(either(event).GetName())
		}
	}
}

// StateChanged has the controllers look again whose caches have synced, failed or recovered.
func (c *Controllers) StateChanged(want watch.Want) {
	switch want.Role {
	case watch.Definition, watch.Controller: // wanted by the operator itself
	case watch.Parent, watch.Child, watch.Namespace:
		for _, name := range c.watches.Owners(want) {
			c.queue.Add(name)
		}
	}
}

func either(e watch.Event) *unstructured.Unstructured {
	if e.New != nil {
		return e.New
	}
	return e.Old
}

func (c *Controllers) parentChanged(want watch.Want, event watch.Event) {
	o := either(event)
	name := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
	for _, controller := range c.watches.Owners(want) {
		if controller != event.Writer {
			c.parents.Add(Key{controller, name})
		}
	}
}

// lossDelay returns how long to wait until a child that is suddenly gone is missed: the garbage
// collector may have taken it with a parent whose own deletion another
// watch is still to bring.
func (c *Controllers) lossDelay(event watch.Event) time.Duration {
	if event.New == nil && event.Old.GetDeletionTimestamp() == nil {
		return c.patience
	}
	return 0
}

func (c *Controllers) childChanged(o *unstructured.Unstructured, writer string, delay time.Duration) {
	if o == nil {
		return
	}
	name := o.GetLabels()[v1.LabelController]
	if name == "" || name == writer {
		return
	}
	c.mu.RLock()
	e := c.entries[name]
	var running *controller
	if e != nil {
		running = e.current
	}
	c.mu.RUnlock()
	switch {
	case e == nil:
	case running == nil:
		c.queue.Add(name) // it may be waiting for its children to be gone
	default:
		if parent := running.parentOf(o); parent.Name != "" {
			c.parents.AddAfter(Key{name, parent}, delay)
		}
	}
}

func (c *Controllers) namespaceChanged(event watch.Event) {
	if event.Old != nil && event.New != nil && maps.Equal(event.Old.GetLabels(), event.New.GetLabels()) {
		return
	}
	ns := either(event).GetName()
	for _, name := range c.names(func(e *entry) bool { return e.current != nil && e.current.namespaceSelector != nil }) {
		running := c.get(name)
		if running == nil {
			continue
		}
		for _, cache := range running.parents {
			cache.Each(func(o *unstructured.Unstructured) bool {
				if o.GetNamespace() == ns {
					c.parents.Add(Key{name, types.NamespacedName{Namespace: ns, Name: o.GetName()}})
				}
				return true
			})
		}
	}
}

// definitionChanged has the controllers look again that know the kind, or miss it.
func (c *Controllers) definitionChanged(definition *unstructured.Unstructured) {
	gk := kube.DefinedKind(definition)
	for _, name := range c.names(func(e *entry) bool {
		_, child := e.childKinds[gk]
		return child || e.compiled != nil && e.compiled.gvk.GroupKind() == gk
	}) {
		c.queue.Add(name)
	}
	for _, name := range c.names(func(e *entry) bool { return e.missing[gk] }) {
		if running := c.get(name); running != nil {
			c.enqueueAll(running)
		}
	}
}
