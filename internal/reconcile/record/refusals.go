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

// Events are written as the service account of the controller. If that is not allowed, they are dropped: the
// TemplateController reports it, the server is not asked again for a while, and the parents of the dropped Events
// are queued once it is allowed.

// audience is the user that writes Events, and the namespace.
type audience struct{ as, namespace string }

// refusal is a response of the server that a permission to write an Event is missing.
type refusal struct {
	audience
	err error
	at  time.Time
}

// said is an Event that is on its way, which may take a while.
type said struct {
	queue.Key
	to audience
	// found is whether a reconciliation has found the problem, and so would notice its end.
	found bool
}

// wanted reports whether to request an Event. If not, it counts as dropped; news is whether that is new.
func (r *EventRecorder) wanted(e said) (wanted, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.refused[e.to]
	if last == nil || r.o.Clock.Since(last.at) >= problem.SlowRetry {
		return true, false
	}
	return false, r.leaveOut(e, last)
}

// leaveOut counts an Event as not said, unless that is no loss any more, and reports whether that is new; the lock is held.
func (r *EventRecorder) leaveOut(e said, why *refusal) (news bool) {
	_, known := r.unheard[e.Key]
	if _, lasts := r.last[e.Key]; e.found && !lasts && !known {
		return false // all is well by now
	}
	delete(r.last, e.Key)
	r.unheard[e.Key] = why
	return !known
}

// answered takes the server's answer to an Event. It returns the parents that Events can be said about now, and the controllers
// whose condition may have changed.
func (r *EventRecorder) answered(e said, err error) (again []queue.Key, changed []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil && len(r.refused)+len(r.unheard) == 0: // as nearly always
	case err == nil:
		delete(r.refused, e.to)
		delete(r.unheard, e.Key)
		for other, refused := range r.unheard {
			if refused.audience == e.to {
				delete(r.unheard, other)
				again = append(again, other)
			}
		}
		return again, controllersOf(append(again, e.Key))
	case permissions.Denied(err):
		r.sweep()
		r.refused[e.to] = &refusal{e.to, err, r.o.Clock.Now()}
		if r.leaveOut(e, r.refused[e.to]) {
			return nil, []string{e.Controller}
		}
	}
	return nil, nil
}

// sweep drops refusals that are too old to count; the lock is held.
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

// Refused returns some refusals of Events of a controller that works as the user, in order of their namespaces, each with a
// parent that one is about.
func (r *EventRecorder) Refused(controller, as string) []RefusedEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := map[string]RefusedEvent{}
	for key, last := range r.unheard {
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
	return all[:min(len(all), problem.MostListed)]
}

// RefusedEvent is an Event about a parent that was refused.
type RefusedEvent struct {
	Key       queue.Key
	Namespace string // that it was to be written in
	Err       error  // what the server answered
	At        time.Time
}

// RetryRefused queues one parent in each of the namespaces where Events of a controller that works as the user were refused, to try again. It
// reports whether there are any. matches reports whether there is a parent of that name.
func (r *EventRecorder) RetryRefused(controller, as string, matches func(types.NamespacedName) bool) bool {
	all := r.Refused(controller, as)
	for _, one := range all {
		switch due := r.o.Clock.Since(one.At) >= problem.SlowRetry; {
		case due && !matches(one.Key.Parent):
			r.Forget(one.Key) // no reconciliation reports anything about it
		case due:
			r.o.Parents.Add(one.Key)
		}
	}
	return len(all) > 0
}
