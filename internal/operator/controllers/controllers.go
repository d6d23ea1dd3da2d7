// Package controllers syncs TemplateControllers: it compiles each into a running controller, sets its watches, queues parents when
// something changes, and writes the TemplateController's status. Parents are reconciled by package reconcile, which New creates, too.
package controllers

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/status"
	"github.com/templater-dev/templater/internal/render/budget"
)

// watcher keeps the caches of the wants; watch.Manager does.
type watcher interface {
	Set(owner string, wants []watch.Want) (map[watch.Want]*watch.Cache, error)
	Owners(want watch.Want) []string
}

// countsDelay is how long a change of the counts in a TemplateController's status
// waits for more of them.
const countsDelay = 2 * time.Second

// lossPatience is how far two watches are expected to be apart: see lossDelay.
const lossPatience = 100 * time.Millisecond

// recountTime is how long after its start an operator may take to reconcile all
// parents; until then, the counts in the status are kept.
const recountTime = 30 * time.Second

// Controllers runs the TemplateControllers: it syncs each with what its spec says now, and keeps what they run. Each of its parts has one job, and
// uses those above it alone. It is safe for concurrent use.
type Controllers struct {
	*registry
	*requeuer
	*checks
	*compiler
	*builder
	*statusWriter
	*finalizer
	*eventHandler

	tracker  *queue.WorkerTracker // of the workers that sync
	shared   *queue.Memory        // see Reserve
	memories []memory             // of parents
	shares   []memory             // of what controllers use
}

// reconciliations is what reconciliations of parents ask of the TemplateControllers, and report to them. It is a reconcile.Controllers.
type reconciliations struct {
	*registry
	*requeuer
	*checks
}

// memory remembers something about parents, or controllers, between reconciliations.
type memory interface{ ForgetController(name string) }

// forget drops a TemplateController that was deleted, or that another installation serves, once no reconciliation is in progress, which may
// record something.
func (c *Controllers) forget(ctx context.Context, name string) error {
	c.stop(ctx, name)
	c.mu.Lock()
	var rivals []string
	if e := c.tracked[name]; e != nil {
		rivals = slices.Collect(maps.Keys(e.counts.Rivals))
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

// forgetParents drops what is remembered of the parents of a TemplateController whose kind is no longer served. Their children are
// kept: an API that is unavailable keeps its objects, and looks like one that was removed for good.
func (c *Controllers) forgetParents(ctx context.Context, name string, e *tracked) {
	c.stop(ctx, name)
	c.mu.Lock()
	rivals := slices.Collect(maps.Keys(e.counts.Rivals))
	e.counts = status.NewCounts()
	c.renewIndexes(name, e)
	e.counts.Begin(e.generation)
	c.mu.Unlock()
	c.requeueRivals(rivals)
	for _, m := range c.memories {
		m.ForgetController(name)
	}
}

// syncWorkers is how many TemplateControllers are worked on at a time.
const syncWorkers = 4

// Run syncs controllers until ctx ends; what has begun by then is finished, unless work
// ends or it takes long. The cache of TemplateControllers and that of definitions must have synced.
func (c *Controllers) Run(ctx, work context.Context) {
	stop := context.AfterFunc(ctx, c.queue.ShutDown)
	defer stop()
	pool := &queue.Pool{
		Tracker: c.tracker, Grace: c.grace, Places: syncWorkers, Spare: syncWorkers,
		Next: func(work context.Context, taken func()) bool { return c.next(ctx, work, taken) },
	}
	pool.Run(ctx, work)
}

// next syncs one controller and reports whether there may be more.
func (c *Controllers) next(ctx, work context.Context, taken func()) bool {
	return queue.Take(ctx, c.queue, func(name string) {
		taken()
		defer c.looked(name)
		c.again(ctx, name, c.guarded(work, name))
	})
}

// again puts the TemplateController back where Sync has not succeeded.
func (c *Controllers) again(ctx context.Context, name string, err error) {
	switch {
	case err == nil:
		c.queue.Forget(name)
	case errors.Is(err, store.ErrBehind):
		c.queue.AddRateLimited(name) // if the watch does not bring it before
	default:
		klog.FromContext(ctx).Error(request.WithoutText(err), "TemplateController not synced, will retry", "controller", name)
		c.queue.AddRateLimited(name)
	}
}

// guarded is Sync, with a panic turned into an error: it hurts this TemplateController alone.
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

// Reserve waits until an admission review may use a place of the memory that all reconciliations share, which is budget.MaxBytes, and returns
// what gives it back. The error says that ctx has ended before. It is safe for concurrent use.
func (c *Controllers) Reserve(ctx context.Context) (release func(), err error) {
	return c.shared.Reserve(ctx, reviews, budget.MaxBytes)
}
