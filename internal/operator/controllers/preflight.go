package controllers

import (
	"cmp"
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/preflight"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

const (
	// previewedParents is the maximum number of parents that a preview reconciles.
	previewedParents = 500
	// dryRunners is the number of TemplateControllers whose dry runs run concurrently. A tenant has at most half of them.
	dryRunners = 4
	// dryRunTime is how long all dry runs of a preflight or preview may take.
	dryRunTime = 5 * time.Minute
	// firstPreflightRetry and lastPreflightRetry are the delays before a preflight that was not conclusive is repeated.
	firstPreflightRetry = 500 * time.Millisecond
	lastPreflightRetry  = time.Minute
	// firstRefusedRetry and lastRefusedRetry are the delays before a refused preflight is repeated: parents, quotas and webhooks change.
	firstRefusedRetry = 15 * time.Second
	lastRefusedRetry  = 5 * time.Minute
)

// trial is the dry run of the revision of the latest spec. The lock of the registry guards it.
type trial struct {
	id        string
	running   bool
	verdict   *preflight.Verdict // of the last one; nil = there was none
	attempts  int
	retryAt   time.Time
	previewed bool
	preview   *v1.RolloutPreview
}

// trials runs dry runs in the background, of a few TemplateControllers at a time.
type trials struct {
	planner *preflight.Planner // nil = no dry runs
	slots   *queue.Slots
	ended   chan struct{} // closed when the operator stops
	running sync.WaitGroup
	// begin runs a function in the background, except in tests.
	begin func(func())
}

func newTrials(planner *preflight.Planner, tenants *queue.Tenants) *trials {
	return &trials{planner: planner, slots: queue.NewSlots(dryRunners, tenants), ended: make(chan struct{}), begin: func(f func()) { go f() }}
}

// run calls f for a TemplateController once a slot is free, unless the operator stops. The context of f is done after dryRunTime or when the operator
// stops, not when the sync that calls run ends.
func (t *trials) run(ctx context.Context, controller string, f func(context.Context)) {
	t.running.Add(1)
	t.begin(func() {
		defer t.running.Done()
		release := t.slots.Take(controller, t.ended)
		if release == nil {
			return
		}
		defer release()
		ctx, cancel := context.WithTimeout(queue.WithoutWorker(context.WithoutCancel(ctx)), dryRunTime)
		defer cancel()
		go func() {
			select {
			case <-t.ended:
				cancel()
			case <-ctx.Done():
			}
		}()
		defer func() {
			if v := recover(); v != nil {
				klog.FromContext(ctx).Error(nil, "panic in a dry run", "stack", string(debug.Stack()))
			}
		}()
		f(ctx)
	})
}

// stopped reports whether the operator stops, so that results of dry runs are not needed.
func (t *trials) stopped() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

// end cancels all dry runs, and returns when none is running.
func (t *trials) end() {
	close(t.ended)
	t.running.Wait()
}

// preflight reports whether the revision of the latest spec may be rolled out: it has passed the dry runs, or there is nothing to try.
func (l *syncRun) preflight(ctx context.Context, s *rolloutStatus) (passed bool) {
	policy := v1.PreflightEnforce
	if r := l.tc.Spec.Rollout; r != nil {
		policy = cmp.Or(r.Preflight, policy)
	}
	parents := l.sample(preflight.MostParents)
	switch {
	case l.c.trials.planner == nil:
		return true
	case l.unknownParents():
		s.progress = progressing(v1.ReasonPreflightRunning, "waiting for the list of parents")
		return false
	case len(parents) == 0:
		return true
	}
	l.c.mu.Lock()
	t := l.trial()
	verdict, left := t.verdict, t.retryAt.Sub(l.c.clock.Now())
	refused := verdict != nil && len(verdict.Refused) > 0 && policy == v1.PreflightEnforce
	repeat := verdict != nil && policy == v1.PreflightEnforce && (refused || t.inconclusive())
	begin := !t.running && (verdict == nil || repeat && left <= 0)
	t.running = t.running || begin
	waits := !t.running && repeat
	l.c.mu.Unlock()
	switch {
	case begin:
		l.try(ctx, t, parents)
	case waits: // a sync that was due earlier may have replaced this one
		l.c.queue.AddAfter(l.name, left)
	}
	switch {
	case verdict == nil:
	case refused:
		s.progress = progressing(v1.ReasonPreflightFailed, "the new revision is not rolled out, because the API server rejects in a dry run: "+problem.Join(verdict.Refused)+"; the previous revision keeps working: correct the spec, or set spec.rollout.preflight to Warn")
		return false
	case !repeat:
		return true
	}
	message := "trying the new revision with dry runs"
	if verdict != nil && len(verdict.NotChecked) > 0 {
		message += "; not checked yet: " + problem.Join(verdict.NotChecked)
	}
	s.progress = progressing(v1.ReasonPreflightRunning, message)
	return false
}

// trial returns the trial of the latest spec. The caller holds the lock.
func (l *syncRun) trial() *trial {
	r := &l.entry.revised
	if r.trial == nil || r.trial.id != r.newest.id {
		r.trial = &trial{id: r.newest.id}
	}
	return r.trial
}

// inconclusive reports whether the preflight must be repeated.
func (t *trial) inconclusive() bool {
	return len(t.verdict.Refused) == 0 && (t.verdict.Retry || len(t.verdict.UnreadKinds) > 0)
}

// try starts a preflight.
func (l *syncRun) try(ctx context.Context, t *trial, parents []types.NamespacedName) {
	candidate := preflight.Candidate{New: l.candidate(), Parents: parents}
	if !l.choice.lost || l.choice.base != nil {
		candidate.Current = l.next
	}
	l.c.trials.run(ctx, l.name, func(ctx context.Context) {
		verdict := l.c.trials.planner.Preflight(ctx, candidate)
		if l.c.trials.stopped() {
			return
		}
		klog.FromContext(ctx).V(2).Info("tried a new revision", "controller", l.name, "revision", t.id, "refused", len(verdict.Refused), "notChecked", len(verdict.NotChecked), "retry", verdict.Retry)
		l.c.mu.Lock()
		t.running, t.verdict = false, &verdict
		delay := min(firstPreflightRetry<<min(t.attempts, 10), lastPreflightRetry)
		if len(verdict.Refused) > 0 {
			delay = min(firstRefusedRetry<<min(t.attempts, 10), lastRefusedRetry)
		}
		t.attempts, t.retryAt = t.attempts+1, l.c.clock.Now().Add(delay)
		for _, kind := range verdict.UnreadKinds {
			l.entry.revised.need(kind.GroupKind())
		}
		l.c.mu.Unlock()
		if len(verdict.UnreadKinds) > 0 {
			l.c.AddKinds(l.name, verdict.UnreadKinds)
		}
		l.c.queue.Add(l.name)
	})
}

// candidate returns a controller that runs the revision of the latest spec for all parents.
func (l *syncRun) candidate() *controller.Controller {
	return l.assembly.variant(l.next, l.tc, l.entry, l.c.builder, l.entry.revised.newest, l.caches)
}

// need records a child kind that only the revision of the latest spec needs: see unwanted.
func (r *revised) need(kind schema.GroupKind) {
	if r.trialKinds == nil {
		r.trialKinds = map[schema.GroupKind]bool{}
	}
	r.trialKinds[kind] = true
}

// preview returns the preview of a revision that waits for approval, once it is known.
func (l *syncRun) preview(ctx context.Context) *v1.RolloutPreview {
	l.c.mu.Lock()
	t := l.trial()
	begin := l.c.trials.planner != nil && !t.previewed
	t.previewed = t.previewed || begin
	preview := t.preview
	l.c.mu.Unlock()
	if before := l.tc.Status.Preview; preview == nil && before != nil && before.Revision == t.id {
		return before // as of before a restart
	}
	if !begin {
		return preview
	}
	candidate, parents, total := l.candidate(), l.sample(previewedParents), l.next.CountParents()
	l.c.trials.run(ctx, l.name, func(ctx context.Context) {
		out := l.c.trials.planner.Preview(ctx, candidate, parents)
		if l.c.trials.stopped() {
			return
		}
		out.Revision, out.Total = t.id, int64(total)
		l.c.mu.Lock()
		t.preview = &out
		l.c.mu.Unlock()
		l.c.queue.Add(l.name)
	})
	return nil
}

// sample returns up to n parents to try a revision with: ready ones first, by name.
func (l *syncRun) sample(n int) []types.NamespacedName {
	type sampled struct {
		name  types.NamespacedName
		ready bool
	}
	compare := func(a, b sampled) int {
		if a.ready != b.ready {
			return map[bool]int{true: -1, false: 1}[a.ready]
		}
		return object.CompareKeys(a.name, b.name)
	}
	var all []sampled
	l.next.EachParent(func(o *object.Object) {
		if !o.Deleting() {
			all = append(all, sampled{name: o.Key()})
		}
	})
	l.c.mu.RLock()
	defer l.c.mu.RUnlock()
	kept := all[:0]
	for _, each := range all {
		if t := l.entry.counts.ByParent[each.name]; !t.Suspended {
			kept = append(kept, sampled{each.name, t.Ready})
		}
	}
	slices.SortFunc(kept, compare)
	names := make([]types.NamespacedName, min(n, len(kept)))
	for i := range names {
		names[i] = kept[i].name
	}
	return names
}
