package record

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// Events are created as the service account of the TemplateController. If that is forbidden, they are dropped: the
// TemplateController reports it, no further requests are sent for a while, and the parents of the dropped Events are
// enqueued once it is allowed.

// access is a user that creates Events in a namespace.
type access struct{ as, namespace string }

// refusal is a Forbidden response to an Event.
type refusal struct {
	access
	err error
	at  time.Time
}

// pendingEvent is an Event that is being published, which may take a while.
type pendingEvent struct {
	queue.Key
	to access
	// found means that the parent had a problem when the Event was announced, see EventRecorder.found.
	found bool
}

// wanted reports whether to send an Event. If not, the Event is dropped; news reports whether it is the first one of
// the parent.
func (r *EventRecorder) wanted(e pendingEvent) (wanted, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.refused[e.to]
	if last == nil || r.o.Clock.Since(last.at) >= problem.SlowRetry {
		return true, false
	}
	return false, r.markDropped(e, last)
}

// markDropped records a dropped Event, unless its problem no longer exists. It reports whether it is the first one of the
// parent. The caller holds the lock.
func (r *EventRecorder) markDropped(e pendingEvent, why *refusal) (news bool) {
	_, known := r.dropped[e.Key]
	if _, lasts := r.last[e.Key]; e.found && !lasts && !known {
		return false // the problem is resolved
	}
	delete(r.last, e.Key)
	r.dropped[e.Key] = why
	return !known
}

// answered processes the response to an Event. It returns the parents whose Events are now allowed, and the
// TemplateControllers whose condition may have changed.
func (r *EventRecorder) answered(e pendingEvent, err error) (again []queue.Key, changed []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil && len(r.refused)+len(r.dropped) == 0: // nearly always
	case err == nil:
		delete(r.refused, e.to)
		delete(r.dropped, e.Key)
		for other, refused := range r.dropped {
			if refused.access == e.to {
				delete(r.dropped, other)
				again = append(again, other)
			}
		}
		return again, controllersOf(append(again, e.Key))
	case permissions.Denied(err):
		r.sweep()
		r.refused[e.to] = &refusal{e.to, err, r.o.Clock.Now()}
		if r.markDropped(e, r.refused[e.to]) {
			return nil, []string{e.Controller}
		}
	}
	return nil, nil
}

// sweep drops expired refusals. The caller holds the lock.
func (r *EventRecorder) sweep() {
	for to, last := range r.refused {
		if r.o.Clock.Since(last.at) >= problem.SlowRetry {
			delete(r.refused, to)
		}
	}
}

func controllersOf(keys []queue.Key) []string {
	names := map[string]bool{}
	for _, key := range keys {
		names[key.Controller] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Refused returns examples of Events of a TemplateController that were forbidden for the user, sorted by namespace: one
// per namespace, and at most problem.MaxListed.
func (r *EventRecorder) Refused(controller, as string) []RefusedEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := map[string]RefusedEvent{}
	for key, last := range r.dropped {
		if key.Controller != controller || last.as != as {
			continue
		}
		known, found := first[last.namespace]
		if !found || key.Parent.String() < known.Key.Parent.String() {
			first[last.namespace] = RefusedEvent{Key: key, Namespace: last.namespace, Err: last.err, At: last.at}
		}
	}
	var all []RefusedEvent
	for _, namespace := range slices.Sorted(maps.Keys(first)) {
		all = append(all, first[namespace])
	}
	return all[:min(len(all), problem.MaxListed)]
}

// RefusedEvent is an Event about a parent that was forbidden.
type RefusedEvent struct {
	Key       queue.Key
	Namespace string // namespace of the Event
	Err       error  // the response of the API server
	At        time.Time
}

// RetryRefused enqueues one parent for each namespace in which Events of a TemplateController were forbidden for the
// user, to retry. It reports whether there are any. matches reports whether a parent with that name exists and matches.
func (r *EventRecorder) RetryRefused(controller, as string, matches func(types.NamespacedName) bool) bool {
	all := r.Refused(controller, as)
	for _, one := range all {
		switch due := r.o.Clock.Since(one.At) >= problem.SlowRetry; {
		case due && !matches(one.Key.Parent):
			r.Forget(one.Key) // no reconciliation publishes Events about it
		case due:
			r.o.Parents.Add(one.Key)
		}
	}
	return len(all) > 0
}
