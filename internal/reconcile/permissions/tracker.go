package permissions

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

const (
	// BelievedFor is how long an answer about permissions is used.
	BelievedFor = 10 * time.Second
	// longestUnused is how long an answer is kept that is not used.
	longestUnused = 10 * time.Minute
	// asksPerSecond and askBurst limit the requests to the server, however many requests of parents are forbidden.
	asksPerSecond, askBurst = 20, 60
	// askTime is how long the server may take for an answer.
	askTime = 10 * time.Second
	// mostAsked is how many claims may wait to be looked up; more are left for the next time.
	mostAsked = 100
)

// Reviewer answers for one user what the Tracker asks; a kube.Client does.
type Reviewer interface {
	Allowed(ctx context.Context, right request.Right) (bool, error)
	Get(ctx context.Context, at request.Location) (*object.Object, error)
}

// Tracker finds out which permissions are missing, once a request has been
// forbidden. It asks the server in the background, at a limited rate, so that no reconciliation
// waits for it. It is safe for concurrent use.
type Tracker struct {
	as      func(user string) Reviewer
	clock   clock.PassiveClock
	limit   flowcontrol.RateLimiter
	queue   workqueue.TypedInterface[Claim]
	changed func(controller string)

	mu    sync.Mutex
	found map[Claim]*answered
}

// answered is a finding, and the controllers to sync when it changes.
type answered struct {
	finding
	asked, used time.Time
	controllers map[string]struct{}
}

// NewTracker returns a Tracker that asks as those users, and calls changed for each controller whose finding is new.
func NewTracker(as func(user string) Reviewer, clock clock.PassiveClock, metrics workqueue.MetricsProvider, changed func(controller string)) *Tracker {
	return &Tracker{
		as: as, clock: clock, changed: changed, found: map[Claim]*answered{},
		limit: flowcontrol.NewTokenBucketRateLimiter(asksPerSecond, askBurst),
		queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Claim]{Name: "rights", MetricsProvider: metrics}),
	}
}

// look returns what is known of a claim, at once, and has it looked up when that is
// nothing, or not fresh. The controller hears when it changes.
func (t *Tracker) look(c Claim, controller string) finding {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.found[c]
	if a == nil {
		t.sweep()
		a = &answered{controllers: map[string]struct{}{}}
		t.found[c] = a
	}
	a.used = t.clock.Now()
	a.controllers[controller] = struct{}{}
	if (a.asked.IsZero() || t.clock.Since(a.asked) >= BelievedFor) && t.queue.Len() < mostAsked {
		t.queue.Add(c)
		a.pending = a.asked.IsZero()
	}
	return a.finding
}

// sweep drops findings that are no longer used; the lock is held.
func (t *Tracker) sweep() {
	for c, a := range t.found {
		if t.clock.Since(a.used) > longestUnused {
			delete(t.found, c)
		}
	}
}

// Run looks up until ctx ends.
func (t *Tracker) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, t.queue.ShutDown)
	defer stop()
	for t.Next(ctx) {
	}
}

// Len is how many claims wait to be looked up.
func (t *Tracker) Len() int { return t.queue.Len() }

// ShutDown has Run end once nothing waits any more.
func (t *Tracker) ShutDown() { t.queue.ShutDown() }

// Next looks up one claim, waiting for it, and reports whether there may be more.
func (t *Tracker) Next(ctx context.Context) bool {
	return queue.Take(ctx, t.queue, func(c Claim) {
		limited, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		f, err := t.ask(limited, c)
		if err != nil { // asked again when the request is forbidden again
			klog.FromContext(ctx).V(2).Info("cannot find out which permissions are missing", "user", c.As, "resource", c.Resource.String(), "reason", problem.PublicReason(err))
		}
		for _, controller := range t.take(c, f) {
			t.changed(controller)
		}
	})
}

// take keeps a finding and returns the controllers to which it is new. A failed lookup
// keeps the last finding.
func (t *Tracker) take(c Claim, f finding) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.found[c]
	if a == nil {
		return nil
	}
	a.asked = t.clock.Now()
	waited := a.pending
	a.pending = false
	switch {
	case f.known && !a.same(f):
		a.finding = f
	case !waited:
		return nil
	}
	controllers := make([]string, 0, len(a.controllers))
	for controller := range a.controllers {
		controllers = append(controllers, controller)
	}
	clear(a.controllers)
	return controllers
}
