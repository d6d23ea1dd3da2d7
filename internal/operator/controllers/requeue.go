package controllers

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// requeuer enqueues parents and TemplateControllers because something else has changed.
type requeuer struct {
	*registry

	parents queue.Queue
	backlog *queue.Backlog // parents to reconcile because of their TemplateController
}

// Count records the summary of a parent, which may have been deleted during its reconciliation.
func (q *requeuer) Count(key queue.Key, now status.ParentSummary) { q.count(key, &now) }

// Left records that the parent no longer exists or matches.
func (q *requeuer) Left(key queue.Key) {
	q.count(key, nil)
	q.requeueContested(key.Parent)
}

// count records the summary of a parent; nil means that it no longer exists or matches.
func (q *requeuer) count(key queue.Key, now *status.ParentSummary) {
	current := q.get(key.Controller)
	exists := now != nil && current != nil && current.Parent(key.Parent) != nil // without the lock: it may evaluate the filter
	q.mu.Lock()
	e := q.tracked[key.Controller]
	if e != nil && e.current != current { // replaced in the meantime
		q.mu.Unlock()
		q.count(key, now)
		return
	}
	if !exists {
		now = nil
	}
	rivals := [2]string{}
	if e != nil {
		rivals[0] = e.counts.RivalOf(key.Parent)
		if now == nil {
			delete(e.confirmedParents, key.Parent)
		}
	}
	changed := e != nil && e.counts.Set(key.Parent, now)
	if changed {
		e.meter.Parents(e.counts.Parents)
		rivals[1] = e.counts.RivalOf(key.Parent)
		for _, rival := range rivals {
			q.noteRival(key.Controller, e, rival)
		}
	}
	q.mu.Unlock()
	if !changed {
		return
	}
	q.queue.AddAfter(key.Controller, countsDelay)
	if rivals[0] != rivals[1] {
		q.requeueRivals(rivals[:])
	}
}

// start makes next the running controller and, if anything about it or its caches has changed, enqueues all parents.
func (q *requeuer) start(e *tracked, a assembly, next *controller.Controller) {
	state := next.State(kind.Gone(a.KindErr))
	q.mu.Lock()
	if a.unwatched || a.rejection != nil && !next.MayHold && !a.reports {
		next = nil
	}
	fresh, before := !state.Equal(e.state), e.current
	e.current, e.state = next, state
	q.mu.Unlock()
	if fresh {
		q.requeueContested(types.NamespacedName{})
	}
	switch {
	case next == nil:
	case fresh:
		q.enqueueAll(next)
	case before != nil:
		q.enqueueMoved(next, before.Moved(next))
	}
}

// enqueueMoved enqueues parents that have another revision now.
func (q *requeuer) enqueueMoved(next *controller.Controller, parents []*object.Object) {
	keys := make([]queue.Key, len(parents))
	for i, o := range parents {
		keys[i] = queue.Key{Controller: next.Name, Parent: o.Key()}
		q.parents.Forget(keys[i])
	}
	if len(keys) > 0 {
		q.backlog.Add(next.Name, keys)
	}
}

// enqueueAll enqueues all parents, and missing ones that are counted or have children, because no event may have
// reported their deletion. It resets their backoff, because the change may fix their errors.
func (q *requeuer) enqueueAll(next *controller.Controller) {
	var keys []queue.Key
	next.EachParent(func(o *object.Object) {
		if next.TeardownOnly && !o.Deleting() && !next.ReportsRejection {
			return
		}
		keys = append(keys, queue.Key{Controller: next.Name, Parent: o.Key()})
	})
	for _, key := range keys {
		q.parents.Forget(key)
	}
	if next.TeardownOnly {
		q.backlog.Add(next.Name, keys)
		return
	}
	for _, name := range next.MissingParents(q.counted(next.Name)) {
		keys = append(keys, queue.Key{Controller: next.Name, Parent: name})
	}
	q.backlog.Add(next.Name, keys)
}

// requeueContested enqueues parents with status fields that another TemplateController owned, which may have released
// them: the parent with that name, or all if it is empty.
func (q *requeuer) requeueContested(parent types.NamespacedName) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	for name, e := range q.tracked {
		e.counts.EachContested(parent, func(at types.NamespacedName) {
			q.parents.Add(queue.Key{Controller: name, Parent: at})
		})
	}
}

// requeueRivals enqueues these TemplateControllers, to update their conditions; "" is ignored.
func (q *requeuer) requeueRivals(names []string) {
	for _, name := range names {
		if name != "" {
			q.queue.AddAfter(name, countsDelay)
		}
	}
}

// waker returns a function that enqueues parents of a controller.
func (q *requeuer) waker(controller string) func(parent types.NamespacedName) {
	return func(parent types.NamespacedName) { q.parents.Add(queue.Key{Controller: controller, Parent: parent}) }
}

// enqueueHolders enqueues objects that have the finalizer.
func (q *requeuer) enqueueHolders(name string, holders []request.Holder) {
	for _, h := range holders {
		q.parents.Add(queue.Key{Controller: name, Parent: h.Name})
	}
}
