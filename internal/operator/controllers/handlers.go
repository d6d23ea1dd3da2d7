package controllers

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// eventHandler queues what the events of watches concern. It is a watch.Handler.
type eventHandler struct {
	*registry

	requeuer  *requeuer
	checks    *checks
	watches   watcher
	departed  *child.Departed
	orphaning *queue.OrphaningParents
	// patience is lossPatience, but in tests.
	patience time.Duration
}

// Changed maps the change of an object to keys, and queues them. Events of own
// writes concern only other controllers. While another replica leads, no parent
// is queued.
func (h *eventHandler) Changed(want watch.Want, event watch.Event) {
	if h.checks.standby.Load() && want.Role != watch.Definition && want.Role != watch.Controller {
		return
	}
	switch want.Role {
	case watch.Parent:
		h.parentChanged(want, event)
	case watch.Child:
		h.departed.Note(event.Old, event.New)
		delay := h.lossDelay(event)
		h.childChanged(want, event.Old, event.Writer, delay)
		h.childChanged(want, event.New, event.Writer, delay)
	case watch.Related:
		h.relatedChanged(want, event)
	case watch.Namespace:
		h.namespaceChanged(want, event)
	case watch.Definition:
		h.definitionChanged(event)
	case watch.Controller:
		if event.Writer == "" {
			h.queue.Add(event.Object().Name())
		}
	case watch.Seal, watch.Webhook: // the operator sees to them
	}
}

// StateChanged queues the controllers whose caches have synced, failed or recovered.
func (h *eventHandler) StateChanged(want watch.Want) {
	switch want.Role {
	case watch.Definition, watch.Controller, watch.Seal, watch.Webhook: // watches of the operator itself
	case watch.Parent, watch.Child, watch.Related, watch.Namespace:
		for _, name := range h.watches.Owners(want) {
			h.queue.Add(name)
		}
	}
}

func (h *eventHandler) parentChanged(want watch.Want, event watch.Event) {
	o := event.Object()
	name := o.Key()
	for _, controller := range h.watches.Owners(want) {
		key := queue.Key{Controller: controller, Parent: name}
		h.noteOrphaning(key, o)
		if controller != event.Writer {
			h.requeuer.parents.Add(key)
		}
	}
}

// noteOrphaning remembers a parent that is deleted without its dependents. The garbage collector may complete that before the next reconciliation.
func (h *eventHandler) noteOrphaning(key queue.Key, parent *object.Object) {
	if parent.HasFinalizer(v1.FinalizerParentPrefix+key.Controller) && plan.CascadesOrphan(parent) {
		h.orphaning.Note(key, parent.UID())
	}
}

// lossDelay returns how long to wait after the deletion of a child before its parent is queued: the garbage
// collector may have deleted it with a parent whose own deletion another
// watch has not delivered yet.
func (h *eventHandler) lossDelay(event watch.Event) time.Duration {
	if event.New == nil && !event.Old.Deleting() {
		return h.patience
	}
	return 0
}

func (h *eventHandler) childChanged(want watch.Want, o *object.Object, writer string, delay time.Duration) {
	if o == nil {
		return
	}
	name := o.Label(v1.LabelController)
	if name == writer {
		return
	}
	h.mu.RLock()
	e := h.tracked[name]
	var running *running.Controller
	if e != nil {
		running = e.current
	}
	h.mu.RUnlock()
	switch {
	case e == nil:
		return
	case running == nil:
		h.queue.Add(strings.Clone(name)) // it may be waiting for the deletion of its children
		return
	}
	source, reads := running.ReadBy(want)
	if !reads {
		return // another watch reports it
	}
	if parent, concerned := running.Concerned(o, source.Kind.GroupKind()); concerned {
		h.requeuer.parents.AddAfter(queue.Key{Controller: running.Name, Parent: parent}, delay) // not name, which is a part of the child's text
	}
}

func (h *eventHandler) namespaceChanged(want watch.Want, event watch.Event) {
	if event.Old != nil && event.New != nil && event.Old.SameLabels(event.New) {
		return
	}
	ns := event.Object().Name()
	for _, name := range h.watches.Owners(want) {
		running := h.get(name)
		if running == nil {
			continue
		}
		h.relatedNamespaceChanged(running, want, event)
		if running.NamespaceSelector == nil {
			continue
		}
		for _, cache := range running.Parents {
			cache.Each(func(o *object.Object) bool {
				if o.Namespace() == ns {
					h.requeuer.parents.Add(queue.Key{Controller: name, Parent: o.Key()})
				}
				return true
			})
		}
	}
}

// definitionChanged queues the controllers that use the kind, or miss it.
func (h *eventHandler) definitionChanged(event watch.Event) {
	for _, definition := range []*object.Object{event.Old, event.New} { // an edit may have changed the kind's name
		if definition != nil {
			h.kindChanged(kind.Defined(definition))
			h.KindLearned(kind.Defined(definition))
		}
	}
}

func (h *eventHandler) kindChanged(gk schema.GroupKind) {
	for _, name := range h.names(func(e *tracked) bool {
		_, child := e.childKinds[gk]
		parent := e.compiled != nil && (e.rejection == nil || e.current != nil) && e.compiled.GVK.GroupKind() == gk
		return child || parent || e.compiled != nil && e.compiled.RelatesTo(gk)
	}) {
		h.queue.Add(name)
	}
	for _, name := range h.names(func(e *tracked) bool { return e.missing[gk] }) {
		if running := h.get(name); running != nil {
			h.requeuer.enqueueAll(running)
		}
	}
}

// learnDelay is how long a change of a kind waits for more of them, so that a CustomResourceDefinition that changes all the time costs few
// checks.
const learnDelay = time.Second

// KindLearned queues the TemplateControllers whose verdict depends on a kind, to check them again.
func (h *eventHandler) KindLearned(gk schema.GroupKind) {
	h.mu.Lock()
	var names []string
	at := h.clock.Now().Add(learnDelay)
	for name, e := range h.tracked {
		if e.asked[gk] {
			if e.stale.IsZero() {
				e.stale = at
			}
			names = append(names, name)
		}
	}
	h.mu.Unlock()
	for _, name := range names {
		h.queue.AddAfter(name, learnDelay)
	}
}

// relatedChanged queues the parents that see an object.
func (h *eventHandler) relatedChanged(want watch.Want, event watch.Event) {
	for _, name := range h.watches.Owners(want) {
		running := h.get(name)
		if running == nil {
			continue
		}
		for _, e := range running.Related {
			if e.Reads(want) {
				e.Changed(event, h.requeuer.waker(running.Name))
			}
		}
	}
}

// relatedNamespaceChanged queues the parents that see objects in a namespace which starts or stops matching.
func (h *eventHandler) relatedNamespaceChanged(running *running.Controller, want watch.Want, event watch.Event) {
	for _, e := range running.Related {
		if e.Namespaces != nil && e.Namespaces.Of(want) {
			e.NamespaceChanged(event, h.requeuer.waker(running.Name))
		}
	}
}
