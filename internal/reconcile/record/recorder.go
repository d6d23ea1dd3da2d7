// Package record records what reconciliations do, as Events and as metrics.
package record

import (
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// RepeatAfter is when a lasting problem is announced again: the API server forgets Events, after an hour if its
// --event-ttl does not say otherwise.
const RepeatAfter = 50 * time.Minute

// EventPublisher publishes Events. It must not block.
type EventPublisher interface {
	Announce(request.Announcement)
}

// EventOptions are what a recorder works with.
type EventOptions struct {
	Events EventPublisher
	Clock  clock.PassiveClock
	// Parents is the queue of the parents that are reconciled because Events about them are no longer forbidden.
	Parents queue.Queue
	// Controllers is the queue of those whose condition may have changed, and Delay how long that waits for more where
	// nothing else does.
	Controllers workqueue.TypedDelayingInterface[string]
	Delay       time.Duration
}

// EventRecorder publishes Events. It remembers the last problem of each parent, so that the same one is not
// published by every reconciliation, and the Events that could not be published. It is safe for concurrent use.
type EventRecorder struct {
	o EventOptions

	mu      sync.Mutex
	last    map[queue.Key]announcement
	faults  map[queue.Key]faults
	refused map[audience]*refusal  // the last one
	unheard map[queue.Key]*refusal // of the last Event about a parent
}

// announcement is what was announced last, and when.
type announcement struct {
	text string
	at   time.Time
}

// faults are those that the server has found so far.
type faults struct {
	about string
	found []string
}

// NewEventRecorder returns a recorder that has announced nothing.
func NewEventRecorder(o EventOptions) *EventRecorder {
	return &EventRecorder{o: o, last: map[queue.Key]announcement{}, faults: map[queue.Key]faults{}, refused: map[audience]*refusal{}, unheard: map[queue.Key]*refusal{}}
}

// Announce publishes an Event about a parent, or what was one, as that user.
func (r *EventRecorder) Announce(as string, key queue.Key, what request.Announcement) {
	e := said{Key: key, to: audience{as, request.EventNamespace(what.About)}, found: r.found(key)}
	what.As = as
	what.Wanted = func() bool {
		wanted, news := r.wanted(e)
		if news {
			r.o.Controllers.AddAfter(key.Controller, r.o.Delay)
		}
		return wanted
	}
	what.Answered = func(err error) {
		keys, changed := r.answered(e, err)
		for _, other := range keys {
			r.o.Parents.Add(other)
		}
		for _, name := range changed {
			r.o.Controllers.Add(name)
		}
	}
	what.Message = problem.Line(what.Message)
	r.o.Events.Announce(what) //nolint:forbidigo // this is the place
}

// found reports whether a reconciliation has found a problem that still exists.
func (r *EventRecorder) found(key queue.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, found := r.last[key]
	return found
}

// Faults returns the faults and those that were found before in the same, sorted. The
// server checks fields in random order and may stop at the first invalid
// one; each change of the list would be a write and an Event.
func (r *EventRecorder) Faults(key queue.Key, about string, found []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before := r.faults[key]; before.about == about {
		found = slices.Concat(before.found, found)
	}
	found = slices.Sorted(slices.Values(found))
	found = slices.Compact(found)
	r.faults[key] = faults{about, found}
	return found
}

// Fresh reports whether the text differs from the last one for key, or that one was announced long ago. An
// empty text says that all is well.
func (r *EventRecorder) Fresh(key queue.Key, text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text == "" {
		r.drop(key)
		return false
	}
	if before := r.last[key]; before.text == text && r.o.Clock.Since(before.at) < RepeatAfter {
		return false
	}
	r.last[key] = announcement{text, r.o.Clock.Now()}
	return true
}

// Forget drops what is remembered of a parent that was deleted.
func (r *EventRecorder) Forget(key queue.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(key)
}

// drop forgets about a parent; the lock is held.
func (r *EventRecorder) drop(key queue.Key) {
	delete(r.last, key)
	delete(r.faults, key)
	delete(r.unheard, key)
}

// ForgetController drops what is remembered of a controller that was deleted.
func (r *EventRecorder) ForgetController(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	queue.DropController(r.last, name)
	queue.DropController(r.faults, name)
	queue.DropController(r.unheard, name)
}
