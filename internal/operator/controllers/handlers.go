package controllers

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// eventHandler enqueues the keys that watch events affect. It implements watch.Handler.
type eventHandler struct {
	*registry

	requeuer *requeuer
	checks   *checks
	watches  watcher
	departed *child.Departed
	history  *queue.History
	waiting  *permissions.Waiting
	// patience is lossPatience, except in tests.
	patience time.Duration
}

// Changed maps the change of an object to keys, and enqueues them. Events of own writes only affect other controllers.
// While another replica leads, no parent is enqueued.
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
			h.queue.Add(store.KeyOf(event.Object()))
		}
	case watch.Seal, watch.Webhook: // handled by package operator
	}
}

// StateChanged enqueues the TemplateControllers whose caches have synced, failed or recovered.
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
			h.endBackoff(key, event)
			h.requeuer.parents.Add(key)
		}
	}
}

// noteOrphaning records a parent that is deleted with --cascade=orphan. The garbage collector may finish before the
// next reconciliation.
func (h *eventHandler) noteOrphaning(key queue.Key, parent *object.Object) {
	if parent.HasFinalizer(v1.ParentFinalizer(key.Controller)) && plan.CascadesOrphan(parent) {
		h.history.Orphaning.Note(key, parent.UID())
	}
}

// endBackoff ends all backoff of a parent whose annotation templater.dev/reconcile-at has a new value.
func (h *eventHandler) endBackoff(key queue.Key, event watch.Event) {
	if event.New == nil || event.Old == nil {
		return
	}
	if at := event.New.Annotation(v1.AnnotationReconcileAt); at != "" && at != event.Old.Annotation(v1.AnnotationReconcileAt) {
		h.requeuer.parents.Forget(key)
		h.waiting.Forget(key)
		h.history.Breaker.Forget(key)
	}
}

// lossDelay returns how long to wait after the deletion of a child before its parent is enqueued: the garbage collector
// may have deleted the child because its parent was deleted, which another watch has not delivered yet.
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
	name := o.ControllerKey()
	if name == writer {
		return
	}
	h.mu.RLock()
	e := h.tracked[name]
	var running *controller.Controller
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
		h.requeuer.parents.AddAfter(queue.Key{Controller: running.Name, Parent: parent}, delay) // not name, which is a substring of the child's data
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

// definitionChanged enqueues the TemplateControllers that use the kind of a CRD, or miss it.
func (h *eventHandler) definitionChanged(event watch.Event) {
	for _, definition := range []*object.Object{event.Old, event.New} { // an edit may have renamed the kind
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

// learnDelay is how long a change of a kind waits for further changes, so that frequent changes of a CRD cause few
// checks.
const learnDelay = time.Second

// KindLearned enqueues the TemplateControllers whose verdict depends on a kind, to check them again.
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

// relatedChanged enqueues the parents that select an object.
func (h *eventHandler) relatedChanged(want watch.Want, event watch.Event) {
	for _, name := range h.watches.Owners(want) {
		running := h.get(name)
		if running == nil {
			continue
		}
		for e := range running.AllRelated() {
			if e.Reads(want) {
				e.Changed(event, h.requeuer.waker(running.Name))
			}
		}
	}
}

// relatedNamespaceChanged enqueues the parents that select objects in a namespace that starts or stops matching.
func (h *eventHandler) relatedNamespaceChanged(running *controller.Controller, want watch.Want, event watch.Event) {
	for e := range running.AllRelated() {
		if e.Namespaces != nil && e.Namespaces.Of(want) {
			e.NamespaceChanged(event, h.requeuer.waker(running.Name))
		}
	}
}
