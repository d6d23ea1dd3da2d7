package controllers

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/operator/controllers/revisions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/revision"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// rolloutStatus is the part of the status of a TemplateController about its revisions.
type rolloutStatus struct {
	latest   revisions.Latest
	preview  *v1.RolloutPreview
	progress *metav1.Condition // nil = none
}

// is reports whether the Progressing condition has a reason.
func (s *rolloutStatus) is(reason string) bool {
	return s.progress != nil && s.progress.Reason == reason
}

// admit admits the revision of the latest spec, and continues its rollout. What it decides is stored first, and runs after the next sync.
func (l *syncRun) admit(ctx context.Context) (done bool, err error) {
	r, s := &l.entry.revised, rolloutStatus{}
	latest, id := r.latest, r.newest.id
	switch {
	case l.c.revisions == nil:
		if l.tc.Spec.Rollout != nil {
			s.progress = progressing(v1.ReasonRevisionsDisabled, "spec.rollout has no effect, because templater runs without --revisions: a change reaches all parents at once")
		}
	case l.tc.DeletionTimestamp != nil, l.tc.Spec.Suspend, l.assembly.rejection != nil, id == "":
		s.progress, s.preview = l.pausedProgress(), l.tc.Status.Preview
	case latest.Update == "":
		err = l.store(ctx, nil)
	case latest.Update == id && latest.Complete():
		l.forgetTrial()
		if l.tc.Spec.Rollout != nil {
			s.progress = progressing(v1.ReasonRolloutComplete, "all parents have the revision of the spec")
		}
	case latest.Update == id:
		err = l.follow(ctx, &s)
	default:
		err = l.consider(ctx, &s)
	}
	if err != nil { // what runs is not affected
		l.unstored, r.located = err, false // they are read again
		s.preview = l.tc.Status.Preview
		s.progress = progressing(v1.ReasonRevisionNotStored, "cannot read or write the TemplateRevisions of this TemplateController, will retry: "+problem.PublicReason(err)+"; check that the CustomResourceDefinitions and the ClusterRole of templater are those of its version")
	}
	s.latest = r.latest
	l.assembly.rolled = s
	return false, nil
}

// pausedProgress returns the Progressing condition while nothing can be rolled out.
func (l *syncRun) pausedProgress() *metav1.Condition {
	r := &l.entry.revised
	if update := r.latest.Update; update == "" || r.latest.Complete() && r.newest.id == update {
		return nil
	}
	return progressing(v1.ReasonRolloutPaused, "the rollout continues once the spec is accepted, and not suspended")
}

// forgetTrial drops the state of dry runs that are no longer needed.
func (l *syncRun) forgetTrial() {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.entry.revised.trial, l.entry.revised.trialKinds = nil, nil
}

// store stores the revision of the latest spec as the newest one, and deletes old ones.
func (l *syncRun) store(ctx context.Context, state *v1.RolloutState) error {
	r := &l.entry.revised
	next, err := revisions.New(r.newest.spec, r.latest.Number+1, state)
	if err != nil {
		return err
	}
	if err := l.put(ctx, next); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("stored a new revision", "controller", l.name, "revision", next.ID, "number", next.Number)
	limit := spec.HistoryLimit(&l.tc.Spec)
	if next.Number <= int64(limit) {
		return nil
	}
	if err := l.c.revisions.Prune(ctx, l.tc, limit, r.latest.Update, r.latest.Current, l.tc.Status.UpdateRevision); err != nil { // the next revision tries again
		klog.FromContext(ctx).Info("cannot delete old revisions", "controller", l.name, "reason", problem.PublicReason(err))
	}
	return nil
}

// put writes the TemplateRevision of the newest revision. Another sync acts on it.
func (l *syncRun) put(ctx context.Context, next *revisions.Revision) error {
	r := &l.entry.revised
	if err := l.c.revisions.Put(ctx, l.tc, next); err != nil {
		return err
	}
	r.stored, r.latest, l.again = next, next.Latest(), true
	return nil
}

// complete ends the rollout of the newest revision: all parents have it.
func (l *syncRun) complete(ctx context.Context) error {
	if l.entry.revised.stored == nil {
		return l.store(ctx, nil)
	}
	next := *l.entry.revised.stored
	next.Rollout = nil
	return l.put(ctx, &next)
}

// consider admits the revision of the latest spec once its preflight has passed.
func (l *syncRun) consider(ctx context.Context, s *rolloutStatus) error {
	r, rollout := &l.entry.revised, l.tc.Spec.Rollout
	if !l.preflight(ctx, s) {
		return nil
	}
	if rollout == nil || r.newest.id == r.latest.Current { // there is nothing to keep apart
		return l.store(ctx, nil)
	}
	if err := l.readStored(ctx); err != nil {
		return err
	}
	var superseded *v1.ParentSelection
	if r.stored != nil && r.stored.Rollout != nil {
		superseded = revision.Supersede(*r.stored.Rollout)
	}
	state := revision.Begin(r.latest.Current, *rollout, superseded)
	r.readySince = time.Time{}
	s.progress = progressing(v1.ReasonRollingOut, "the new revision has passed the dry runs")
	return l.store(ctx, &state)
}

// follow continues the rollout of the revision of the latest spec.
func (l *syncRun) follow(ctx context.Context, s *rolloutStatus) error {
	r, rollout := &l.entry.revised, l.tc.Spec.Rollout
	switch {
	case rollout == nil:
		return l.complete(ctx)
	case r.stored == nil, r.stored.Rollout == nil:
		s.progress = progressing(v1.ReasonRevisionNotFound, "the TemplateRevision of status.updateRevision does not exist or was changed, so it is unknown which parents have it, and all parents are left unchanged; remove spec.rollout to update all of them")
		return nil
	case l.choice.lost && r.stored.Rollout.Retry == rollout.Retry && !r.stored.Rollout.Selected.All:
		s.progress = progressing(v1.ReasonRevisionNotFound, "the TemplateRevision of status.currentRevision does not exist, was changed, or does not compile with the rest of the spec: parents that have it are left unchanged; change spec.rollout.retry to continue the rollout")
		return nil
	}
	parents, waitsFor := l.parentsOf()
	if waitsFor != "" {
		s.preview, s.progress = l.tc.Status.Preview, progressing(v1.ReasonRollingOut, "waiting "+waitsFor)
		return nil
	}
	d, err := revision.Next(revision.Progress{
		ID: r.newest.id, Spec: *rollout, State: *r.stored.Rollout, Parents: parents, Now: l.c.clock.Now(), ReadySince: r.readySince,
	})
	switch {
	case err != nil:
		return err
	case d.Done:
		err = l.complete(ctx)
	case d.Changed:
		next := *r.stored
		next.Rollout = &d.State
		err = l.put(ctx, &next)
		klog.FromContext(ctx).Info("continued a rollout", "controller", l.name, "revision", r.newest.id, "step", d.State.Step, "halted", d.State.Halted)
	case d.Reason == v1.ReasonApprovalRequired:
		s.preview = l.preview(ctx)
	}
	if d.After > 0 {
		l.c.queue.AddAfter(l.name, d.After)
	}
	r.readySince, s.progress = d.ReadySince, progressing(d.Reason, d.Message)
	return err
}

// unknownParents reports whether no list of parents is complete, or one is in progress.
func (l *syncRun) unknownParents() bool {
	listed := false
	for _, cache := range l.next.Parents {
		listed = listed || cache.Synced()
	}
	return !listed || l.next.SyncingParents()
}

// parentsOf returns the parents that a rollout counts; waitsFor is what must happen before they are known, or "". The counts enqueue another sync.
func (l *syncRun) parentsOf() (counted []revision.Parent, waitsFor string) {
	if l.unknownParents() {
		return nil, "for the list of parents"
	}
	l.next.EachParent(func(o *object.Object) {
		if !o.Deleting() {
			counted = append(counted, revision.Parent{Name: o.Key(), UID: o.UID(), Labels: o})
		}
	})
	all := counted
	counted = counted[:0]
	l.c.mu.RLock()
	defer l.c.mu.RUnlock()
	e := l.entry
	for _, p := range all {
		t, reconciled := e.counts.ByParent[p.Name]
		if !reconciled {
			waitsFor = "until all parents are reconciled"
		}
		p.Updated, p.Ready, p.Failed = t.Generation == e.generation && !t.Outdated, t.Ready, t.Failed
		if !t.Suspended {
			counted = append(counted, p)
		}
	}
	return counted, waitsFor
}

// dropRevisions deletes the revisions of a deleted TemplateController.
func (c *Controllers) dropRevisions(ctx context.Context, name string) error {
	c.mu.RLock()
	e := c.tracked[name]
	c.mu.RUnlock()
	if c.revisions == nil || e == nil || c.standby.Load() || e.since.IsZero() {
		return nil
	}
	return c.revisions.Drop(ctx, name, e.uid)
}

// sweepRevisions deletes the revisions of TemplateControllers that were deleted while no operator was running.
func (c *Controllers) sweepRevisions(ctx context.Context) error {
	exist := map[types.UID]bool{}
	c.Each(func(o *object.Object) { exist[o.UID()] = true })
	return c.revisions.Sweep(ctx, func(uid types.UID) bool { return exist[uid] })
}

// sweepOnce calls sweepRevisions once this replica leads, until it succeeds.
func (c *Controllers) sweepOnce(ctx context.Context) {
	if c.revisions == nil {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-c.leads:
	}
	_ = wait.PollUntilContextCancel(ctx, problem.SlowRetry, true, func(ctx context.Context) (bool, error) {
		err := c.sweepRevisions(ctx)
		if err != nil {
			klog.FromContext(ctx).Info("cannot delete the revisions of deleted TemplateControllers, will retry", "reason", problem.PublicReason(err))
		}
		return err == nil, nil
	})
}
