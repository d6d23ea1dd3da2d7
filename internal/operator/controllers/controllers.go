package controllers

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// watcher keeps the caches that are wanted; watch.Manager does.
type watcher interface {
	Set(owner string, wants []watch.Want) (map[watch.Want]*watch.Cache, error)
	Owners(want watch.Want) []string
}

// countsDelay is how long a change of the counts in a TemplateController's status
// waits for more of them.
const countsDelay = 2 * time.Second

// lossPatience is how far two watches are expected to be apart: see lossDelay.
const lossPatience = 100 * time.Millisecond

// recountTime is how long after its start an operator may take to look at all
// parents; until it has, the counts that it finds in the status are believed.
const recountTime = 30 * time.Second

// Controllers runs the TemplateControllers: it keeps, for each, the compiled
// templates, the caches and the status. It is safe for concurrent use.
type Controllers struct {
	clusters func(as string) running.Client
	kinds    running.Resolver
	watches  watcher
	clock    clock.PassiveClock
	cache    *watch.Cache // of the TemplateControllers
	queue    workqueue.TypedRateLimitingInterface[string]
	parents  queue.Queue
	backlog  *queue.Backlog
	rights   *permissions.Tracker
	tenants  *queue.Tenants
	shared   *queue.Memory // see Reserve
	// watchShares says how many watches each TemplateController may have.
	watchShares *watchShares
	seals       *seal.Ring
	departed    *child.Departed
	orphaning   *queue.OrphaningParents
	// accounts is whether a TemplateController must name a service account.
	accounts bool
	// schemas say which fields objects have; nil = nothing is known of them.
	schemas Schemas
	memory  *compiledMemory
	// selections bound what parents select of related objects.
	selections *related.Memory
	// lint is lintOf, but in tests.
	lint func(pause func() error, tc *v1.TemplateController, compiled *spec.Compiled, known openapi.Set) (lint.Result, error)
	// patience is lossPatience, but in tests.
	patience time.Duration
	meters   record.Meters
	tracker  *queue.WorkerTracker
	passing  *queue.WorkerTracker // of those who make passes
	// grace is stopGrace, but in tests.
	grace    time.Duration
	class    string      // of the TemplateControllers that are served
	standby  atomic.Bool // whether another replica leads
	led      atomic.Bool // whether the standby is over
	memories []memory    // of parents
	shares   []memory    // of what controllers use
	events   *record.EventRecorder
	logs     *podlogs.Fetcher

	mu      sync.RWMutex
	tracked map[string]*tracked
	first   map[string]struct{} // the TemplateControllers that were there at first and were not looked at
}

// memory keeps something about parents, or controllers, from one pass to the next.
type memory interface{ ForgetController(name string) }

// Enter returns the running controller of that name, or nil, and what to call
// when the pass is over.
func (c *Controllers) Enter(name string) (*running.Controller, func()) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.tracked[name]
	if e == nil || e.current == nil {
		return nil, func() {}
	}
	e.passes.Add(1)
	e.underWay.Add(1)
	return e.current, e.left
}

// Measure counts a pass, unless the TemplateController is gone.
func (c *Controllers) Measure(name string, outcome record.Outcome, took time.Duration) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if e := c.tracked[name]; e != nil {
		e.meter.Pass(outcome, took)
	}
}

// get returns the running controller of that name, or nil.
func (c *Controllers) get(name string) *running.Controller {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if e := c.tracked[name]; e != nil {
		return e.current
	}
	return nil
}

// runs reports whether templates are executed for the parents of a controller.
func (c *Controllers) runs(name string) bool {
	running := c.get(name)
	return running != nil && running.Runs() && !running.Rejected
}

// Miss notes kinds that templates ask for and the server does not have.
func (c *Controllers) Miss(name string, kinds []schema.GroupKind) {
	if len(kinds) == 0 {
		return // as in nearly every pass: do not make them wait for each other
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.tracked[name]; e != nil {
		for _, gk := range kinds {
			e.missing[gk] = true
		}
	}
}

// AddKinds has the controller watch kinds that it is about to create. The parent that needs them is reconciled again once they can be
// read and are recorded: see recordReadable.
func (c *Controllers) AddKinds(name string, kinds []schema.GroupVersionKind) {
	c.mu.Lock()
	if e := c.tracked[name]; e != nil {
		for _, gvk := range kinds {
			_, ok := e.childKinds[gvk.GroupKind()]
			if !ok {
				e.unrecorded[gvk.GroupKind()] = true
			}
			if !ok || !e.settled[gvk.GroupKind()] {
				e.childKinds[gvk.GroupKind()] = gvk.Version
				e.settled[gvk.GroupKind()] = true
				e.round++
			}
		}
	}
	c.mu.Unlock()
	c.queue.Add(name)
}

// Count notes how a parent fares. A pass may have taken longer than its parent was there.
func (c *Controllers) Count(key queue.Key, now status.ParentSummary) { c.count(key, &now) }

// Left notes that there is no such parent any more.
func (c *Controllers) Left(key queue.Key) {
	c.count(key, nil)
	c.requeueContested(key.Parent)
}

// count notes how a parent fares; nil means that it is no parent any more.
func (c *Controllers) count(key queue.Key, now *status.ParentSummary) {
	current := c.get(key.Controller)
	exists := now != nil && current != nil && current.Parent(key.Parent) != nil // without the lock: it may evaluate the filter
	c.mu.Lock()
	e := c.tracked[key.Controller]
	if e != nil && e.current != current { // replaced meanwhile
		c.mu.Unlock()
		c.count(key, now)
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
	c.mu.Unlock()
	if !changed {
		return
	}
	c.queue.AddAfter(key.Controller, countsDelay)
	if rivals[0] != rivals[1] {
		c.requeueRivals(rivals[:])
	}
}

// forget forgets a TemplateController that is gone, or another installation's, once no pass is under way, which may note something.
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

// forgetParents forgets what is remembered of the parents of a TemplateController whose kind is not served any more. Their children are
// kept: an API that is away keeps its objects, and nothing tells it from one that is gone for good.
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

// start makes next the running controller and, when anything about it or its caches
// is new, has all parents looked at.
func (c *Controllers) start(e *tracked, a assembly, next *running.Controller) {
	state := next.State(kind.Gone(a.kindErr))
	c.mu.Lock()
	if a.refused || a.rejection != nil && !next.MayHold && !a.reports {
		next = nil
	}
	fresh := !state.Equal(e.state)
	e.current, e.state = next, state
	c.mu.Unlock()
	if fresh {
		c.requeueContested(types.NamespacedName{})
	}
	if next != nil && fresh {
		c.enqueueAll(next)
	}
}

// enqueueAll has all parents looked at, and all that are counted or have children though they are
// not there: nobody may have been told of their leave. Their failures so far count no more: what
// has changed may be what kept them from success.
func (c *Controllers) enqueueAll(next *running.Controller) {
	var keys []queue.Key
	next.EachParent(func(o *object.Object) {
		if next.TeardownOnly && !o.Deleting() && !next.ReportsRejection {
			return
		}
		keys = append(keys, queue.Key{Controller: next.Name, Parent: o.Key()})
	})
	for _, key := range keys {
		c.parents.Forget(key)
	}
	if next.TeardownOnly {
		c.backlog.Add(next.Name, keys)
		return
	}
	left := map[queue.Key]struct{}{}
	next.EachChild(func(s running.Source, o *object.Object) {
		if name, concerned := next.Concerned(o, s.Kind.GroupKind()); concerned {
			left[queue.Key{Controller: next.Name, Parent: name}] = struct{}{}
		}
	})
	for _, name := range c.counted(next.Name) {
		left[queue.Key{Controller: next.Name, Parent: name}] = struct{}{}
	}
	maps.DeleteFunc(left, func(key queue.Key, _ struct{}) bool { return next.Parent(key.Parent) != nil })
	c.backlog.Add(next.Name, slices.AppendSeq(keys, maps.Keys(left)))
}

// counted returns the parents that a controller counts.
func (c *Controllers) counted(name string) []types.NamespacedName {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if e := c.tracked[name]; e != nil {
		return slices.Collect(maps.Keys(e.counts.ByParent))
	}
	return nil
}

// names returns the controllers that f holds for.
func (c *Controllers) names(f func(*tracked) bool) []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.tracked)) {
		if f(c.tracked[name]) {
			out = append(out, name)
		}
	}
	return out
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
	case errors.Is(err, errBehind):
		c.queue.AddRateLimited(name) // if the watch does not bring it before
	default:
		klog.FromContext(ctx).Error(err, "TemplateController not synced, will retry", "controller", name)
		c.queue.AddRateLimited(name)
	}
}

// looked takes note that a TemplateController was looked at, with whatever result.
func (c *Controllers) looked(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.first, name)
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

// Pending returns the TemplateControllers that were there at first and that were not yet
// looked at.
func (c *Controllers) Pending() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Sorted(maps.Keys(c.first))
}
