package controllers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/operator/controllers/conditions"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// statusWriter keeps the status of TemplateControllers up to date.
type statusWriter struct {
	*registry

	checks   *checks
	requeuer *requeuer
	events   *record.EventRecorder
	logs     *podlogs.Fetcher
}

// writeStatus writes the status of a TemplateController if it differs.
func (w *statusWriter) writeStatus(ctx context.Context, tc *v1.TemplateController, e *tracked, a assembly, next *running.Controller) error {
	status := w.statusOf(tc, e, a, next)
	e.meter.Ready(meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady))
	if apiequality.Semantic.DeepEqual(status, tc.Status) {
		return nil
	}
	err := w.checks.ApplyStatus(ctx, tc, status)
	if problem.Unfit(err) { // a TemplateController may be about as large as an object may be
		for i := range status.Conditions {
			status.Conditions[i].Message = object.Line(status.Conditions[i].Message, problem.ShortMessage)
		}
		err = w.checks.ApplyStatus(ctx, tc, status)
	}
	if err != nil {
		return err
	}
	w.noteVersion(e)
	return nil
}

// statusOf is the status that a TemplateController should have.
func (w *statusWriter) statusOf(tc *v1.TemplateController, e *tracked, a assembly, next *running.Controller) v1.TemplateControllerStatus {
	sealedSince, known := w.sealedSince(tc, e, a, next), w.parentsOf(tc, e, a, next)
	w.mu.RLock()
	defer w.mu.RUnlock()
	status := v1.TemplateControllerStatus{
		ObservedGeneration: tc.Generation,
		ClassName:          &w.checks.class,
		Conditions:         slices.Clone(tc.Status.Conditions),
		Parents:            e.counts.Parents,
		Failing:            e.counts.Failing(tc.Status.Failing),
		Children:           e.counts.Children,
		ChildNamespaces:    slices.Sorted(maps.Keys(e.namespaces)),
		SealedSince:        sealedSince,
		Finalizes:          a.mayHold(tc) && !e.Released,
	}
	left := recountTime - w.clock.Since(e.since)
	recounting := left > 0 && e.counts.Parents.Total < tc.Status.Parents.Total && !known.counted
	if recounting {
		status.Parents, status.Children, status.Failing = tc.Status.Parents, tc.Status.Children, tc.Status.Failing
		if tc.Status.ObservedGeneration != tc.Generation {
			status.Parents.Updated = e.counts.Parents.Updated
		}
		w.queue.AddAfter(tc.Name, left) // once more: in the queue, what comes sooner has replaced what was to come then
	}
	if !recounting {
		status.Parents.Total = max(status.Parents.Total, known.total) // with those that are not reconciled yet
	}
	if a.rejection != nil { // parents are not reconciled
		total := known.total
		if !known.complete {
			total = max(status.Parents.Total, tc.Status.Parents.Total)
		}
		status.Parents, status.Failing = v1.ParentCounts{Total: total, Failed: total}, nil
		status.Children.Total = max(status.Children.Total, tc.Status.Children.Total)
	}
	for gk, version := range e.childKinds {
		if e.unrecorded[gk] {
			continue
		}
		status.ChildKinds = append(status.ChildKinds, v1.ChildKind{Group: gk.Group, Version: version, Kind: gk.Kind, Custom: e.custom[gk]})
	}
	slices.SortFunc(status.ChildKinds, func(a, b v1.ChildKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	facts := a.facts(tc, next, e.counts)
	facts.Parents, facts.Failing = status.Parents, status.Failing
	facts.Rival, facts.RivalParents = w.rival(tc.Name, e)
	for _, condition := range conditions.Of(facts) {
		if recounting && condition.Type == v1.ConditionStatusWritable && conditions.OwnedByOthers(tc) {
			continue // as far as is known
		}
		w.checks.SetCondition(&status, tc, condition)
	}
	w.tellOfTries(tc, &status, next, left)
	return status
}

// knownParents is about the parents in the caches.
type knownParents struct {
	total    int64 // 0 unless complete
	complete bool  // whether the caches hold all of them
	counted  bool  // whether they are all counted, where the status has more parents than that
}

// parentsOf reads the parents from the caches, without the lock: that may evaluate the filter.
func (w *statusWriter) parentsOf(tc *v1.TemplateController, e *tracked, a assembly, next *running.Controller) (known knownParents) {
	if len(next.Parents) > 0 && (!next.Rejected || next.ReportsRejection) && next.ParentsComplete() {
		known.total, known.complete = int64(next.CountParents()), true
	}
	w.mu.RLock()
	fewer := e.counts.Parents.Total < tc.Status.Parents.Total && w.clock.Since(e.since) < recountTime
	w.mu.RUnlock()
	known.counted = fewer && w.countsAll(e, a, next)
	return known
}

// tellOfTries adds conditions about Events that could not be written, and logs that could not be read.
func (w *statusWriter) tellOfTries(tc *v1.TemplateController, status *v1.TemplateControllerStatus, next *running.Controller, left time.Duration) {
	var events, logs *metav1.Condition
	var moreOfEvents, moreOfLogs bool
	if next != nil {
		events, moreOfEvents = conditions.Events(next, w.events)
		logs, moreOfLogs = conditions.Logs(next, w.logs.Failures(next.Name))
	}
	var filter *metav1.Condition
	if next != nil {
		filter = conditions.Filter(next)
	}
	w.setWhileFalse(tc, status, v1.ConditionFilterEvaluated, filter, left)
	if !moreOfEvents {
		w.setWhileFalse(tc, status, v1.ConditionEventsWritable, events, left)
	}
	if !moreOfLogs {
		w.setWhileFalse(tc, status, v1.ConditionLogsReadable, logs, left)
	}
}

// setWhileFalse puts a condition of that type into the status that is there only while it is False; nil is for not at all. An operator
// that has so much time left until it knows has tried nothing, and says what the last one did.
func (w *statusWriter) setWhileFalse(tc *v1.TemplateController, status *v1.TemplateControllerStatus, kind string, now *metav1.Condition, left time.Duration) {
	before := meta.FindStatusCondition(tc.Status.Conditions, kind)
	switch {
	case now == nil && before == nil:
	case now != nil:
		w.checks.SetCondition(status, tc, *now)
	case left > 0:
		w.queue.AddAfter(tc.Name, left)
	default:
		meta.RemoveStatusCondition(&status.Conditions, kind)
	}
}

// facts are what the conditions report.
func (a *assembly) facts(tc *v1.TemplateController, next *running.Controller, counts *status.Counts) conditions.Facts {
	return conditions.Facts{
		Rejection: a.rejection, Linted: a.linted, Kind: a.Kind, KindErr: a.KindErr, Ending: a.ending,
		Suspended: tc.Spec.Suspend, Finalizes: a.mayHold(tc), Running: next, Counts: counts,
	}
}

// sealedSince is what the status says of the seals of the children. It ends the adoption where none is left without:
// see child.Ownership.
func (w *statusWriter) sealedSince(tc *v1.TemplateController, e *tracked, a assembly, next *running.Controller) *metav1.Time {
	if !next.Factory.Adopting {
		return tc.Status.SealedSince
	}
	w.mu.RLock()
	recent := w.clock.Since(e.since) < strayPatience
	w.mu.RUnlock()
	if a.rejection != nil || a.KindErr != nil || next.Spec.Suspend || !next.AllSealed(recent) {
		w.queue.AddAfter(tc.Name, strayPatience) // no event may report that the last one was deleted
		return tc.Status.SealedSince
	}
	next.Factory.Adopting = false
	since := metav1.NewTime(next.Factory.Seals.Since())
	return &since
}

// strayPatience is how long children without a seal may take to go whose parent is not there, or does not match.
const strayPatience = 5 * time.Minute

// askAgain queues a controller later that is not allowed to read something, or that watches a namespace that does not
// exist, to report what is still missing.
func (w *statusWriter) askAgain(next *running.Controller) {
	switch {
	case next.Forbidden():
		w.queue.AddAfter(next.Name, permissions.BelievedFor)
	case len(next.AbsentNamespaces()) > 0:
		w.queue.AddAfter(next.Name, problem.SlowRetry)
	}
	matches := func(parent types.NamespacedName) bool { return next.Parent(parent) != nil }
	if w.events.RetryRefused(next.Name, next.As, matches) {
		w.queue.AddAfter(next.Name, problem.SlowRetry)
	}
}
