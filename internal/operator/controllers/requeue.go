package controllers

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// requeuer has parents reconciled, and TemplateControllers synced, because something about others has changed.
type requeuer struct {
	*registry

	parents queue.Queue
	backlog *queue.Backlog // of parents that are to be reconciled because of their TemplateController
}

// Count notes how a parent fares. A pass may have taken longer than its parent was there.
func (q *requeuer) Count(key queue.Key, now status.ParentSummary) { q.count(key, &now) }

// Left notes that there is no such parent any more.
func (q *requeuer) Left(key queue.Key) {
	q.count(key, nil)
	q.requeueContested(key.Parent)
}

// count notes how a parent fares; nil means that it is no parent any more.
func (q *requeuer) count(key queue.Key, now *status.ParentSummary) {
	current := q.get(key.Controller)
	exists := now != nil && current != nil && current.Parent(key.Parent) != nil // without the lock: it may evaluate the filter
	q.mu.Lock()
	e := q.tracked[key.Controller]
	if e != nil && e.current != current { // replaced meanwhile
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

// start makes next the running controller and, when anything about it or its caches
// is new, has all parents looked at.
func (q *requeuer) start(e *tracked, a assembly, next *running.Controller) {
	state := next.State(kind.Gone(a.kindErr))
	q.mu.Lock()
	if a.refused || a.rejection != nil && !next.MayHold && !a.reports {
		next = nil
	}
	fresh := !state.Equal(e.state)
	e.current, e.state = next, state
	q.mu.Unlock()
	if fresh {
		q.requeueContested(types.NamespacedName{})
	}
	if next != nil && fresh {
		q.enqueueAll(next)
	}
}

// enqueueAll has all parents looked at, and all that are counted or have children though they are
// not there: nobody may have been told of their leave. Their failures so far count no more: what
// has changed may be what kept them from success.
func (q *requeuer) enqueueAll(next *running.Controller) {
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
	left := map[queue.Key]struct{}{}
	next.EachChild(func(s running.Source, o *object.Object) {
		if name, concerned := next.Concerned(o, s.Kind.GroupKind()); concerned {
			left[queue.Key{Controller: next.Name, Parent: name}] = struct{}{}
		}
	})
	for _, name := range q.counted(next.Name) {
		left[queue.Key{Controller: next.Name, Parent: name}] = struct{}{}
	}
	maps.DeleteFunc(left, func(key queue.Key, _ struct{}) bool { return next.Parent(key.Parent) != nil })
	q.backlog.Add(next.Name, slices.AppendSeq(keys, maps.Keys(left)))
}

// requeueContested has parents looked at again of whose status a part is left to another TemplateController, which may
// have let go of it: one of that name, or all where it is empty.
func (q *requeuer) requeueContested(parent types.NamespacedName) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	for name, e := range q.tracked {
		e.counts.EachContested(parent, func(at types.NamespacedName) {
			q.parents.Add(queue.Key{Controller: name, Parent: at})
		})
	}
}

// requeueRivals has the conditions of these TemplateControllers written anew; "" stands for none.
func (q *requeuer) requeueRivals(names []string) {
	for _, name := range names {
		if name != "" {
			q.queue.AddAfter(name, countsDelay)
		}
	}
}

// waker has parents of a controller looked at.
func (q *requeuer) waker(controller string) func(parent types.NamespacedName) {
	return func(parent types.NamespacedName) { q.parents.Add(queue.Key{Controller: controller, Parent: parent}) }
}

// lookAtHolders has a look at objects that match no longer.
func (q *requeuer) lookAtHolders(name string, holders []request.Holder) {
	for _, h := range holders {
		q.parents.Add(queue.Key{Controller: name, Parent: h.Name})
	}
}
