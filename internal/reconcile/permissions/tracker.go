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
	// CacheTTL is how long results are cached.
	CacheTTL = 10 * time.Second
	// maxUnused is how long unused results are kept.
	maxUnused = 10 * time.Minute
	// reviewsPerSecond and reviewBurst limit the requests to the API server, regardless of how many requests are forbidden.
	reviewsPerSecond, reviewBurst = 20, 60
	// reviewTimeout is the timeout for the reviews of one claim.
	reviewTimeout = 10 * time.Second
	// maxQueued is the maximum number of queued claims. Further claims are queued when they are needed again.
	maxQueued = 100
)

// Reviewer performs access reviews and GET requests for one user. kube.Client implements it.
type Reviewer interface {
	Allowed(ctx context.Context, right request.Permission) (bool, error)
	Get(ctx context.Context, at request.Location) (*object.Object, error)
}

// Tracker determines which permissions are missing after a request was forbidden. It sends the access reviews in the
// background, at a limited rate, so that no reconciliation waits for them. It is safe for concurrent use.
type Tracker struct {
	as      func(user string) Reviewer
	clock   clock.PassiveClock
	limit   flowcontrol.RateLimiter
	queue   workqueue.TypedInterface[Requirement]
	changed func(controller string)

	mu    sync.Mutex
	found map[Requirement]*cachedResult
}

// cachedResult is a result, and the controllers to sync when it changes.
type cachedResult struct {
	reviewResult
	asked, used time.Time
	controllers map[string]struct{}
}

// NewTracker returns a Tracker. as returns the Reviewer of a user. changed is called for each controller that requested
// a result that has changed.
func NewTracker(as func(user string) Reviewer, clock clock.PassiveClock, metrics workqueue.MetricsProvider, changed func(controller string)) *Tracker {
	return &Tracker{
		as: as, clock: clock, changed: changed, found: map[Requirement]*cachedResult{},
		limit: flowcontrol.NewTokenBucketRateLimiter(reviewsPerSecond, reviewBurst),
		queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Requirement]{Name: "permissions", MetricsProvider: metrics}),
	}
}

// look returns the cached result for a claim without blocking, and queues a review if there is none or it has expired.
// changed is called for the controller when the result changes. A nil Tracker knows nothing.
func (t *Tracker) look(c Requirement, controller string) reviewResult {
	if t == nil {
		return reviewResult{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.found[c]
	if a == nil {
		t.sweep()
		a = &cachedResult{controllers: map[string]struct{}{}}
		t.found[c] = a
	}
	a.used = t.clock.Now()
	a.controllers[controller] = struct{}{}
	if (a.asked.IsZero() || t.clock.Since(a.asked) >= CacheTTL) && t.queue.Len() < maxQueued {
		t.queue.Add(c)
		a.pending = a.asked.IsZero()
	}
	return a.reviewResult
}

// sweep drops results that are no longer used. The caller holds the lock.
func (t *Tracker) sweep() {
	for c, a := range t.found {
		if t.clock.Since(a.used) > maxUnused {
			delete(t.found, c)
		}
	}
}

// Run processes claims until ctx is done or ShutDown is called.
func (t *Tracker) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, t.queue.ShutDown)
	defer stop()
	for t.Next(ctx) {
	}
}

// Len returns the number of queued claims.
func (t *Tracker) Len() int { return t.queue.Len() }

// ShutDown makes Run return once the queue is empty.
func (t *Tracker) ShutDown() { t.queue.ShutDown() }

// Next processes the next claim, blocking until there is one. It returns false after shutdown.
func (t *Tracker) Next(ctx context.Context) bool {
	return queue.Take(ctx, t.queue, func(c Requirement) {
		limited, cancel := context.WithTimeout(ctx, reviewTimeout)
		defer cancel()
		f, err := t.ask(limited, c)
		if err != nil { // reviewed again when the request is forbidden again
			klog.FromContext(ctx).V(2).Info("cannot find out which permissions are missing", "user", c.As, "resource", c.Resource.String(), "reason", problem.PublicReason(err))
		}
		for _, controller := range t.take(c, f) {
			t.changed(controller)
		}
	})
}

// take stores a result, and returns the controllers to sync because it has changed or they wait for it. A failed review
// keeps the previous result.
func (t *Tracker) take(c Requirement, f reviewResult) []string {
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
		a.reviewResult = f
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
