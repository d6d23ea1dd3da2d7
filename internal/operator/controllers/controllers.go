// Package controllers syncs TemplateControllers: it compiles each into a running controller, sets its watches, enqueues
// parents when something changes, and writes the TemplateController's status. Parents are reconciled by package
// reconcile, which New also sets up.
package controllers

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/controllers/crds"
	"github.com/templater-dev/templater/internal/operator/controllers/revisions"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/render/budget"
)

// watcher maintains the caches of the wants. watch.Manager implements it.
type watcher interface {
	Set(owner string, wants []watch.Want) (map[watch.Want]*watch.Cache, error)
	Owners(want watch.Want) []string
}

// countsDelay is how long a change of the counts in a TemplateController's status waits for further changes.
const countsDelay = 2 * time.Second

// lossPatience is the expected maximum lag between two watches: see lossDelay.
const lossPatience = 100 * time.Millisecond

// recountTime is how long an operator may take after its start to reconcile all parents. Until then, the counts in the
// status are kept.
const recountTime = 30 * time.Second

// Controllers runs the TemplateControllers: it syncs each with its spec, and stores their state. Each of its parts has
// one job, and only uses those above it. It is safe for concurrent use.
type Controllers struct {
	*registry
	*requeuer
	*checks
	*compiler
	*builder
	*statusWriter
	*finalizer
	*eventHandler

	crds      *crds.Writer
	revisions *revisions.Store // nil = no revisions
	leads     chan struct{}    // closed when this replica leads
	trials    *trials
	tracker   *queue.WorkerTracker // of the workers that sync
	reviewers *queue.WorkerTracker // of admission reviews
	shared    *queue.Memory        // see Reserve
	memories  []memory             // per-parent state
	shares    []memory             // shares of limited resources
}

// reconciliations is the interface between the reconciler and the TemplateControllers. It implements
// reconcile.Controllers.
type reconciliations struct {
	*registry
	*requeuer
	*checks
}

// memory holds state of parents or controllers between reconciliations.
type memory interface{ ForgetController(name string) }

// forget drops a TemplateController that was deleted, or is served by another installation. It first waits for running
// reconciliations, which may record something.
func (c *Controllers) forget(ctx context.Context, name string) error {
	c.stop(ctx, name)
	c.mu.Lock()
	var rivals []string
	if e := c.tracked[name]; e != nil {
		rivals = c.dropRivals(name, e)
		e.closeIndexes()
	}
	delete(c.tracked, name)
	c.meters.End(name)
	c.mu.Unlock()
	c.requeueRivals(rivals)
	for _, m := range slices.Concat(c.memories, c.shares) {
		m.ForgetController(name)
	}
	c.requeueContested(types.NamespacedName{})
	_, err := c.watches.Set(name, nil)
	return err
}

// forgetParents drops the state of the parents of a TemplateController whose kind is no longer served. Their children
// are kept: an unavailable API keeps its objects, and looks like one that was removed for good.
func (c *Controllers) forgetParents(ctx context.Context, name string, e *tracked) {
	c.stop(ctx, name)
	c.mu.Lock()
	rivals := c.dropRivals(name, e)
	c.renewIndexes(name, e)
	e.counts.Begin(e.generation)
	c.mu.Unlock()
	c.requeueRivals(rivals)
	for _, m := range c.memories {
		m.ForgetController(name)
	}
}

// syncWorkers is the number of concurrent syncs.
const syncWorkers = 4

// Run syncs TemplateControllers until ctx is done. Running syncs are finished, unless work is done or they exceed the
// grace period. The caches of TemplateControllers and CRDs must have synced.
func (c *Controllers) Run(ctx, work context.Context) {
	stop := context.AfterFunc(ctx, c.queue.ShutDown)
	defer stop()
	var sweeping sync.WaitGroup
	sweeping.Go(func() { c.sweepOnce(ctx) })
	defer sweeping.Wait()
	defer c.trials.end()
	pool := &queue.Pool{
		Tracker: c.tracker, Grace: c.grace, Slots: syncWorkers, Spare: syncWorkers,
		Next: func(work context.Context, taken func()) bool { return c.next(ctx, work, taken) },
	}
	pool.Run(ctx, work)
}

// next syncs the next TemplateController. It returns false if the queue is shut down.
func (c *Controllers) next(ctx, work context.Context, taken func()) bool {
	return queue.Take(ctx, c.queue, func(name string) {
		taken()
		defer c.markSynced(name)
		c.again(ctx, name, c.guarded(work, name))
	})
}

// again enqueues the TemplateController again if Sync failed.
func (c *Controllers) again(ctx context.Context, name string, err error) {
	switch {
	case err == nil:
		c.queue.Forget(name)
	case errors.Is(err, store.ErrBehind):
		c.queue.AddRateLimited(name) // in case the watch does not deliver it earlier
	default:
		klog.FromContext(ctx).Error(request.WithoutText(err), "TemplateController not synced, will retry", "controller", name)
		c.queue.AddRateLimited(name)
	}
}

// guarded calls Sync, and converts a panic to an error, so that it only affects this TemplateController.
func (c *Controllers) guarded(ctx context.Context, name string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			klog.FromContext(ctx).Error(nil, "panic while reconciling a TemplateController", "controller", name, "stack", string(debug.Stack()))
			err = reconcile.ErrPanic
		}
	}()
	return c.Sync(ctx, name)
}

// Busy returns the TemplateControllers that are being synced.
func (c *Controllers) Busy() []queue.Work { return c.tracker.Busy() }

// reviews is the tenant of admission reviews. No TemplateController can have that name.
const reviews = "admission reviews"

// Review returns the context of an admission review once a processor is free, which it shares with all other CPU-bound
// work. The caller must call end after the review. It is safe for concurrent use.
func (c *Controllers) Review(ctx context.Context) (review context.Context, end func()) {
	return c.reviewers.Begin(ctx, queue.Key{Controller: reviews})
}

// Reserve reserves budget.MaxBytes of the memory that all reconciliations share for an admission review, and returns a
// function that releases it. It returns an error if ctx is done first. It is safe for concurrent use.
func (c *Controllers) Reserve(ctx context.Context) (release func(), err error) {
	return c.shared.Reserve(ctx, reviews, budget.MaxBytes)
}
