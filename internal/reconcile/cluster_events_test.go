package reconcile_test

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// Changed enqueues the parents that are affected by the change of an object.
func (cs *controllers) Changed(want watch.Want, event watch.Event) {
	either := event.New
	if either == nil {
		either = event.Old
	}
	if want.Role == watch.Controller {
		cs.c.ControllerQueue.Add(either.Name())
		return
	}
	if want.Role == watch.Child {
		cs.departed.Note(event.Old, event.New)
	}
	for _, name := range cs.c.Owners(want) {
		current := cs.get(name)
		if current == nil {
			continue
		}
		wake := func(parent types.NamespacedName) { cs.c.ParentQueue.Add(queue.Key{Controller: name, Parent: parent}) }
		switch want.Role {
		case watch.Parent:
			if either.HasFinalizer(current.Finalizer) && plan.CascadesOrphan(either) {
				cs.c.shared.Orphaning.Note(queue.Key{Controller: name, Parent: either.Key()}, either.UID())
			}
			if event.Writer != name {
				wake(either.Key())
			}
		case watch.Child:
			cs.childChanged(current, want, event, wake)
		case watch.Related:
			for _, e := range current.Related {
				if e.Reads(want) {
					e.Changed(event, wake)
				}
			}
		default: // Namespaces
			cs.namespaceChanged(current, want, event, wake)
		}
	}
}

func (cs *controllers) childChanged(current *controller.Controller, want watch.Want, event watch.Event, wake func(types.NamespacedName)) {
	source, reads := current.ReadBy(want)
	if !reads {
		return
	}
	for _, o := range []*object.Object{event.Old, event.New} {
		if o == nil || o.Label(v1.LabelController) != current.Name || event.Writer == current.Name {
			continue
		}
		if parent, concerned := current.Concerned(o, source.Kind.GroupKind()); concerned {
			wake(parent)
		}
	}
}

func (cs *controllers) namespaceChanged(current *controller.Controller, want watch.Want, event watch.Event, wake func(types.NamespacedName)) {
	if event.Old != nil && event.New != nil && event.Old.SameLabels(event.New) {
		return
	}
	for _, e := range current.Related {
		if e.Namespaces != nil && e.Namespaces.Of(want) {
			e.NamespaceChanged(event, wake)
		}
	}
	if current.NamespaceSelector != nil {
		cs.enqueueAll(current)
	}
}

// StateChanged syncs the TemplateControllers that use a cache.
func (cs *controllers) StateChanged(want watch.Want) {
	for _, name := range cs.c.Owners(want) {
		if name != "" {
			cs.c.ControllerQueue.Add(name)
		}
	}
}

// kindChanged syncs the TemplateControllers, and enqueues the parents that need the missing kind.
func (cs *controllers) kindChanged(gk schema.GroupKind) {
	for name, e := range cs.tracked {
		cs.c.ControllerQueue.Add(name)
		if e.missing[gk] {
			cs.enqueueAll(e.current)
		}
	}
}

// get returns the running controller of that name, or nil.
func (cs *controllers) get(name string) *controller.Controller {
	if e := cs.tracked[name]; e != nil {
		return e.current
	}
	return nil
}

func (cs *controllers) Enter(name string) (*controller.Controller, func()) {
	return cs.get(name), func() {}
}

func (cs *controllers) Measure(name string, outcome record.Outcome, took time.Duration) {
	cs.tracked[name].meter.Reconciled(outcome, took)
}

func (cs *controllers) Miss(name string, kinds []schema.GroupKind) {
	for _, gk := range kinds {
		cs.tracked[name].missing[gk] = true
	}
}

func (cs *controllers) AddKinds(name string, kinds []schema.GroupVersionKind) {
	e := cs.tracked[name]
	for _, gvk := range kinds {
		if gk := gvk.GroupKind(); e.childKinds[gk] == "" || !e.settled[gk] {
			e.childKinds[gk], e.settled[gk] = gvk.Version, true
			e.round++
		}
	}
	cs.c.ControllerQueue.Add(name)
}

func (cs *controllers) Count(key queue.Key, now status.ParentSummary) {
	if cs.get(key.Controller).Parent(key.Parent) == nil {
		cs.Left(key)
		return
	}
	cs.tracked[key.Controller].counts.Set(key.Parent, &now)
}

func (cs *controllers) Left(key queue.Key) { cs.tracked[key.Controller].counts.Set(key.Parent, nil) }

func (cs *controllers) MayPrune(_ context.Context, by *controller.Controller) bool {
	now := cs.c.Caches[templateControllers].Get(types.NamespacedName{Name: by.Name})
	return now != nil && now.Generation() == by.Generation
}

func (cs *controllers) Unchanged(ctx context.Context, by *controller.Controller) bool {
	now, err := cs.c.Get(ctx, request.Location{Resource: v1.Resource, Name: by.Name})
	return err == nil && now.Generation() == by.Generation
}

// Confirmed reports that the parent is current: no other replica has been the leader before.
func (cs *controllers) Confirmed(context.Context, *controller.Controller, *object.Object) bool {
	return true
}

func (cs *controllers) MayWrite(name string, kind schema.GroupKind, parent types.NamespacedName) bool {
	other := cs.get(name)
	return other != nil && other.GVK.GroupKind() == kind && other.Parent(parent) != nil
}
