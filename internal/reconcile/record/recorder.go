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

// RepeatAfter is the interval at which the Event of a persistent problem is repeated: Events expire after the
// --event-ttl of the API server (default 1h).
const RepeatAfter = 50 * time.Minute

// EventPublisher publishes Events. It must not block.
type EventPublisher interface {
	Announce(request.Announcement)
}

// EventOptions configure an EventRecorder.
type EventOptions struct {
	Events EventPublisher
	Clock  clock.PassiveClock
	// Parents is the queue to which parents are added once Events about them are no longer forbidden.
	Parents queue.Queue
	// Controllers is the queue to which TemplateControllers are added whose condition may have changed, and Delay is
	// the delay after an Event was dropped, to wait for more.
	Controllers workqueue.TypedDelayingInterface[string]
	Delay       time.Duration
}

// EventRecorder publishes Events. It remembers the last problem of each parent, so that not every reconciliation
// publishes the same one, and the Events that were forbidden. It is safe for concurrent use.
type EventRecorder struct {
	o EventOptions

	mu      sync.Mutex
	last    map[queue.Key]announcement
	faults  map[queue.Key]faults
	refused map[access]*refusal    // last Forbidden response
	dropped map[queue.Key]*refusal // parents whose last Event was dropped, and why
}

// announcement is the last problem that was published.
type announcement struct {
	text string
	at   time.Time
}

// faults are the schema errors that the API server has reported so far.
type faults struct {
	about string
	found []string
}

// NewEventRecorder returns an empty EventRecorder.
func NewEventRecorder(o EventOptions) *EventRecorder {
	return &EventRecorder{o: o, last: map[queue.Key]announcement{}, faults: map[queue.Key]faults{}, refused: map[access]*refusal{}, dropped: map[queue.Key]*refusal{}}
}

// Announce publishes an Event about a parent, which may have been deleted, as that user.
func (r *EventRecorder) Announce(as string, key queue.Key, what request.Announcement) {
	e := pendingEvent{Key: key, to: access{as, request.EventNamespace(what.About)}, found: r.found(key)}
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
	r.o.Events.Announce(what) //nolint:forbidigo // the only allowed call
}

// found reports whether the parent has a problem that was published.
func (r *EventRecorder) found(key queue.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, found := r.last[key]
	return found
}

// Faults returns the schema errors in found, and those found before in the same content, sorted. about identifies the
// content. The API server checks fields in random order and may stop at the first invalid one; without merging, each
// reconciliation could change the list, and so cause a write and an Event.
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

// Fresh reports whether text differs from the last one for key, or the last one is older than RepeatAfter. An empty
// text means that there is no problem, and clears it.
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

// Forget drops a deleted parent.
func (r *EventRecorder) Forget(key queue.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(key)
}

// drop drops a parent. The caller holds the lock.
func (r *EventRecorder) drop(key queue.Key) {
	delete(r.last, key)
	delete(r.faults, key)
	delete(r.dropped, key)
}

// ForgetController drops the parents of a deleted TemplateController.
func (r *EventRecorder) ForgetController(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	queue.DropController(r.last, name)
	queue.DropController(r.faults, name)
	queue.DropController(r.dropped, name)
}
