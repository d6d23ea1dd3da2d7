package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/revision"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// syncRun is one sync of one TemplateController: the results of its steps.
type syncRun struct {
	c        *Controllers
	name     string
	packed   *object.Object // from the cache
	tc       *v1.TemplateController
	work     work
	entry    *tracked
	assembly assembly
	next     *controller.Controller // the result
	choice   chosen
	caches   map[watch.Want]*watch.Cache
	// undefined is why the CustomResourceDefinition cannot be read or written.
	undefined error
	// unstored is why the TemplateRevisions cannot be read or written.
	unstored error
	// again is true if another sync must follow once the status is written.
	again bool
}

// Sync makes the running controller match its TemplateController. The caller must retry on an error.
func (c *Controllers) Sync(ctx context.Context, name string) error {
	worker := queue.WorkerOf(ctx)
	worker.Begin(queue.Key{Controller: name})
	defer worker.End()
	l := &syncRun{c: c, name: name}
	for _, step := range []func(context.Context) (done bool, err error){
		l.read,     // or drop its state if it was deleted
		l.turn,     // wait for a processor, if there is something to compile
		l.claim,    // or release it if it belongs to another class
		l.compile,  // and check it, if it has changed
		l.revise,   // decide which revision runs
		l.assemble, // resolve the kinds, and set the watches
		l.serve,    // stop here if another replica or installation serves it
		l.define,   // create or update its CRD
		l.retreat,  // stop watching namespaces that it no longer needs
		l.finalize, // if it is being deleted
		l.admit,    // admit a new revision, and continue its rollout
		l.free,     // check whether parents still have its finalizer
		l.halt,     // stop what runs if it is suspended or rejected now
		l.record,   // write its status
		l.start,    // run it
		l.seek,     // find objects that no longer match, but have its finalizer
	} {
		if done, err := step(ctx); done || err != nil {
			return err
		}
	}
	klog.FromContext(ctx).V(4).Info("reconciled TemplateController", "controller", name, "resourceVersion", l.tc.ResourceVersion)
	return nil
}

// read reads the TemplateController, and drops the state of a deleted one.
func (l *syncRun) read(ctx context.Context) (done bool, err error) {
	l.packed = l.c.Cached(l.name)
	if l.packed == nil {
		klog.FromContext(ctx).V(2).Info("TemplateController was deleted", "controller", l.name)
		if done, err := l.c.reportDeleted(ctx, l.name); !done || err != nil {
			return true, err
		}
		if err := l.c.dropRevisions(ctx, l.name); err != nil {
			return true, err
		}
		return true, l.c.forget(ctx, l.name)
	}
	if l.tc, err = store.Decode(l.packed); err != nil {
		return true, err
	}
	l.c.tenants.Set(l.name, l.tc.Spec.ServiceAccountRef)
	return false, nil
}

// claim tracks a TemplateController of this class, and releases one of another class.
func (l *syncRun) claim(ctx context.Context) (done bool, err error) {
	if l.tc.Spec.ClassName != l.c.class {
		if l.c.revisions != nil {
			l.c.revisions.Forget(ctx, l.tc.UID)
		}
		return true, l.c.release(ctx, l.tc)
	}
	l.entry = l.c.track(l.tc)
	return false, nil
}

// turn waits for a processor if there is something to compile. It reads the TemplateController again afterwards: it may
// have changed, and its memory should not be held while many wait.
func (l *syncRun) turn(ctx context.Context) (done bool, err error) {
	if l.work = l.c.workOn(l.packed, l.tc); !l.work.long() {
		return false, nil
	}
	l.tc, l.packed = nil, nil
	queue.WorkerOf(ctx).Long()
	if l.c.queue.ShuttingDown() { // do not compile during shutdown
		return true, nil
	}
	if done, err := l.read(ctx); done || err != nil {
		return true, err
	}
	l.work = l.c.workOn(l.packed, l.tc)
	return false, nil
}

// compile compiles and checks the spec, once per generation. It checks the spec again if the schemas of its kinds have
// changed. If there is no memory to compile it, the spec is rejected.
func (l *syncRun) compile(ctx context.Context) (done bool, err error) {
	e := l.entry
	l.c.mu.RLock()
	known, compiled := e.revised.newest.spec, e.revised.newest.compiled
	if l.work.fresh || !e.compiles {
		compiled = nil
	}
	l.c.mu.RUnlock()
	switch {
	case !l.work.check, compiled != nil:
		l.tc.Spec = *known
	case l.work.rejection == nil || l.c.revisions != nil: // with revisions, the live part of a rejected spec is needed
		read, err := l.c.Whole(ctx, l.packed, l.tc)
		if err != nil {
			return true, err
		}
		l.tc.Spec = *read
	}
	if !l.work.check {
		if l.work.stale > 0 { // the queue keeps only the earliest time per key, so an earlier sync may have replaced the one of KindLearned
			l.c.queue.AddAfter(l.name, l.work.stale)
		}
		return false, nil
	}
	x, err := l.examine(ctx, compiled)
	if err != nil {
		return true, err
	}
	l.take(x)
	return false, nil
}

// examined is the result of the compile step.
type examined struct {
	compiled *spec.Compiled
	live     *v1.TemplateControllerSpec // see definition
	outlined bool                       // the spec is only an outline
	named    []schema.GroupVersionKind
	verdict
}

// examine runs the compile step, and compiles the spec unless compiled is set. A spec that does not compile is reduced
// to its outline: its templates are not needed, and their memory is not accounted for.
func (l *syncRun) examine(ctx context.Context, compiled *spec.Compiled) (x examined, err error) {
	l.c.setStale(l.entry, time.Time{})
	if l.work.rejection != nil {
		x.verdict = refused(l.work.rejection)
	} else if x.compiled, x.verdict, err = l.c.check(ctx, l.tc, compiled); err != nil {
		l.c.setStale(l.entry, l.c.clock.Now())
		return examined{}, err
	}
	if x.rejection != nil && !x.compiles {
		x.live, x.outlined = l.live(), true
		l.tc.Spec = *spec.Outline(&l.tc.Spec)
		x.compiled = spec.Uncompiled(l.name, &l.tc.Spec)
	}
	if l.work.fresh && x.rejection == nil {
		x.named, err = namedKinds(queue.WorkerOf(ctx).Pauses(), &l.tc.Spec, x.compiled)
	}
	return x, err
}

// take stores the result of the compile step.
func (l *syncRun) take(x examined) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	e := l.entry
	x.verdict.stale = e.stale // it may have been set in the meantime
	e.verdict = x.verdict
	if !l.work.fresh {
		l.tc.Spec = *e.revised.newest.spec
		e.revised.newest.id = l.revisionID()
		return // the spec is unchanged
	}
	own := l.tc.Spec
	if before := e.revised.newest; before.id != "" {
		e.revised.remember(&before)
	}
	e.revised.newest = definition{spec: &own, compiled: x.compiled, live: x.live}
	e.revised.outlined = x.outlined
	e.revised.newest.id = l.revisionID()
	e.generation, e.refused, e.named = l.tc.Generation, l.work.rejection != nil, x.named
	e.counts.Begin(e.generation)
	e.round++
	clear(e.settled)
	clear(e.missing)
	e.dropUnrecorded()
}

// revisionID returns the ID of the revision in the latest spec, or "" if it is rejected, or there are no revisions.
func (l *syncRun) revisionID() string {
	switch e := l.entry; {
	case e.rejection != nil, l.c.revisions == nil:
		return ""
	case !l.work.fresh && e.revised.newest.id != "":
		return e.revised.newest.id
	}
	return revision.IDOf(&l.tc.Spec)
}

// assemble resolves the kinds, and sets the watches.
func (l *syncRun) assemble(ctx context.Context) (done bool, err error) {
	l.c.dropIdleKinds(l.name, l.entry)
	caches, err := l.watch(ctx)
	if err == nil && l.c.rediscover(l.name, caches) {
		caches, err = l.watch(ctx)
	}
	if err != nil {
		return true, fmt.Errorf("watch for %s: %w", v1.Describe(l.name), err)
	}
	l.assembly.rolled = rolloutStatus{latest: l.entry.revised.latest, preview: l.tc.Status.Preview}
	l.caches = caches
	l.next = l.assembly.build(l.tc, l.entry, l.c.builder, l.choice, caches)
	l.c.recordReadable(l.entry, l.next)
	if again := l.assembly.Recheck(); again > 0 {
		l.c.queue.AddAfter(l.name, again)
	}
	return false, nil
}

// watch resolves the kinds, and returns the caches of all watches.
func (l *syncRun) watch(ctx context.Context) (map[watch.Want]*watch.Cache, error) {
	l.assembly = l.c.assemble(l.tc, l.entry, l.choice)
	if l.assembly.lost {
		l.c.forgetParents(ctx, l.name, l.entry)
	}
	if l.tc.DeletionTimestamp == nil && tooMany(l.assembly.rejection) {
		l.assembly.unwatch()
		l.c.watchShares.ForgetController(l.name)
	} else {
		l.c.limitWatches(l.tc, l.entry, &l.assembly)
	}
	if l.assembly.unwatched {
		l.c.stop(ctx, l.name)
	}
	return l.c.watches.Set(l.name, l.assembly.All())
}

// serve ends the sync if another replica or installation serves the TemplateController.
func (l *syncRun) serve(ctx context.Context) (done bool, err error) {
	return !l.c.serve(ctx, l.tc, l.entry), nil
}

// define creates or updates the CustomResourceDefinition. A new one is watched in a later sync, once it is established.
func (l *syncRun) define(ctx context.Context) (done bool, err error) {
	if l.entry.rejection != nil || l.tc.DeletionTimestamp != nil {
		return false, nil // what it was remains
	}
	l.undefined = l.c.crds.Sync(ctx, l.tc, l.assembly.As, &l.entry.crd, l.c.clock.Now())
	return false, nil // the other steps do not depend on it
}

// retreat stops watching namespaces that no longer contain children.
func (l *syncRun) retreat(ctx context.Context) (done bool, err error) {
	l.c.retreat(ctx, l.entry, l.next)
	return false, nil
}

// finalize adds or removes the finalizer, and reports what a TemplateController that is being deleted waits for.
func (l *syncRun) finalize(ctx context.Context) (done bool, err error) {
	ending, err := l.c.finalize(ctx, l.tc, l.entry, l.packed, l.next)
	if l.assembly.ending = ending.waits; l.assembly.ending != nil {
		err = errors.Join(err, l.c.writeStatus(ctx, l.tc, l.entry, l.assembly, l.next))
		l.c.recheckLater(l.next)
	}
	return ending.leaving, err
}

// free checks whether parents still have the finalizer although they no longer need it.
func (l *syncRun) free(ctx context.Context) (done bool, err error) {
	l.entry.Released, err = l.c.noneHolds(ctx, l.entry, l.next)
	if l.entry.Released {
		l.c.queue.Add(l.name) // to remove its own
	}
	return err != nil, err
}

// seek finds objects that no longer match, but have the finalizer.
func (l *syncRun) seek(ctx context.Context) (done bool, err error) {
	return false, errors.Join(l.undefined, l.unstored, l.c.seekStrays(ctx, l.tc, l.entry, l.next))
}

// halt stops the running controller if the TemplateController is suspended or rejected now, so that once its status says so,
// nothing is written for its parents anymore.
func (l *syncRun) halt(ctx context.Context) (done bool, err error) {
	running := l.c.get(l.name)
	if running != nil && (l.tc.Spec.Suspend && !running.Spec.Suspend || l.next.Rejected && !running.Rejected) {
		l.c.stop(ctx, l.name)
	}
	return false, nil
}

// record writes the status. A child kind must be recorded there before the first child of that kind is created.
func (l *syncRun) record(ctx context.Context) (done bool, err error) {
	return false, l.c.writeStatus(ctx, l.tc, l.entry, l.assembly, l.next)
}

// start runs the new controller.
func (l *syncRun) start(context.Context) (done bool, err error) {
	l.c.start(l.entry, l.assembly, l.next)
	l.c.recheckLater(l.next)
	if l.again {
		l.c.queue.Add(l.name)
	}
	return false, nil
}
