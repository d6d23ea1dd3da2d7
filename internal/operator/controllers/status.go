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
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
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
func (w *statusWriter) writeStatus(ctx context.Context, tc *v1.TemplateController, e *tracked, a assembly, next *controller.Controller) error {
	status := w.statusOf(tc, e, a, next)
	e.meter.Ready(meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady))
	e.meter.Rollout(a.rolled.is(v1.ReasonRolloutHalted), a.refused != nil || a.rolled.is(v1.ReasonPreflightFailed))
	if apiequality.Semantic.DeepEqual(status, tc.Status) {
		return nil
	}
	err := w.checks.ApplyStatus(ctx, tc, status)
	if problem.TooLarge(err) { // the status may exceed what is left of the maximum object size
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

// statusOf returns the desired status of a TemplateController.
func (w *statusWriter) statusOf(tc *v1.TemplateController, e *tracked, a assembly, next *controller.Controller) v1.TemplateControllerStatus {
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
		CurrentRevision:    a.rolled.latest.Current,
		UpdateRevision:     a.rolled.latest.Update,
		Preview:            a.rolled.preview,
		Finalizes:          a.mayHold(tc) && !e.Released,
	}
	left := recountTime - w.clock.Since(e.since)
	recounting := left > 0 && e.counts.Parents.Total < tc.Status.Parents.Total && !known.counted
	if recounting {
		status.Parents, status.Children, status.Failing = tc.Status.Parents, tc.Status.Children, tc.Status.Failing
		if tc.Status.ObservedGeneration != tc.Generation {
			status.Parents.Updated = e.counts.Parents.Updated
		}
		w.queue.AddAfter(tc.Key(), left) // again, because an earlier AddAfter replaced the one for that time
	}
	if !recounting {
		status.Parents.Total = max(status.Parents.Total, known.total) // including parents that are not reconciled yet
	}
	if a.rejection != nil { // parents are not reconciled
		total := known.total
		if !known.complete {
			total = max(status.Parents.Total, tc.Status.Parents.Total)
		}
		status.Parents, status.Failing = rejectedCounts(total, e, next), nil
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
	facts.Progressing = a.rolled.progress
	if a.rolled.progress == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1.ConditionProgressing)
	}
	facts.Rival, facts.RivalParents = w.rival(tc.Key(), e)
	if e.crd.Generation == tc.Generation { // otherwise, the CRD is not checked, and its condition remains
		facts.CRD = e.crd.Condition
		if facts.CRD == nil {
			meta.RemoveStatusCondition(&status.Conditions, v1.ConditionCRDReady)
		}
	}
	for _, condition := range conditions.Of(facts) {
		if recounting && condition.Type == v1.ConditionStatusWritable && conditions.OwnedByOthers(tc) {
			continue // not known yet
		}
		w.checks.SetCondition(&status, tc, condition)
	}
	w.setAccessConditions(tc, &status, next, left)
	return status
}

// rejectedCounts returns the counts of the parents while the spec is rejected: all have failed, except suspended ones if parents are counted.
func rejectedCounts(total int64, e *tracked, next *controller.Controller) v1.ParentCounts {
	var suspended int64
	if next != nil && next.ReportsRejection {
		suspended = min(e.counts.Parents.Suspended, total)
	}
	return v1.ParentCounts{Total: total, Failed: total - suspended, Suspended: suspended}
}

// knownParents describes the parents in the caches.
type knownParents struct {
	total    int64 // 0 unless complete
	complete bool  // the caches contain all of them
	counted  bool  // all of them are counted; only set if the status has a higher total than the counts
}

// parentsOf reads the parents from the caches, without the lock: that may evaluate the filter.
func (w *statusWriter) parentsOf(tc *v1.TemplateController, e *tracked, a assembly, next *controller.Controller) (known knownParents) {
	if len(next.Parents) > 0 && (!next.Rejected || next.ReportsRejection) && next.ParentsComplete() {
		known.total, known.complete = int64(next.CountParents()), true
	}
	w.mu.RLock()
	fewer := e.counts.Parents.Total < tc.Status.Parents.Total && w.clock.Since(e.since) < recountTime
	w.mu.RUnlock()
	known.counted = fewer && w.countsAll(e, a, next)
	return known
}

// setAccessConditions sets the conditions about Events that could not be created, logs that could not be read, and filters that
// could not be evaluated.
func (w *statusWriter) setAccessConditions(tc *v1.TemplateController, status *v1.TemplateControllerStatus, next *controller.Controller, left time.Duration) {
	var events, logs *metav1.Condition
	var moreOfEvents, moreOfLogs bool
	if next != nil {
		events, moreOfEvents = conditions.Events(next, w.events)
	}
	if next != nil && next.ExecutesTemplates() { // otherwise no log is read, and the last error may no longer apply
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

// setWhileFalse sets or removes a condition that only exists while it is False; now is nil if it is not. left is how
// long a new operator still cannot know: until then, it keeps the condition of the previous one.
func (w *statusWriter) setWhileFalse(tc *v1.TemplateController, status *v1.TemplateControllerStatus, kind string, now *metav1.Condition, left time.Duration) {
	before := meta.FindStatusCondition(tc.Status.Conditions, kind)
	switch {
	case now == nil && before == nil:
	case now != nil:
		w.checks.SetCondition(status, tc, *now)
	case left > 0:
		w.queue.AddAfter(tc.Key(), left)
	default:
		meta.RemoveStatusCondition(&status.Conditions, kind)
	}
}

// facts returns the inputs of the conditions.
func (a *assembly) facts(tc *v1.TemplateController, next *controller.Controller, counts *status.Counts) conditions.Facts {
	return conditions.Facts{
		Rejection: a.rejection, Refused: a.refused, Linted: a.linted, Kind: a.Kind, KindErr: a.KindErr, Ending: a.ending,
		Suspended: tc.Spec.Suspend, Finalizes: a.mayHold(tc), Running: next, Counts: counts,
	}
}

// sealedSince returns status.sealedSince. It ends the adoption if no child without a seal is left: see child.Ownership.
func (w *statusWriter) sealedSince(tc *v1.TemplateController, e *tracked, a assembly, next *controller.Controller) *metav1.Time {
	if !next.Factory.Adopting {
		return tc.Status.SealedSince
	}
	w.mu.RLock()
	recent := w.clock.Since(e.since) < unsealedTimeout
	w.mu.RUnlock()
	if a.rejection != nil || a.KindErr != nil || next.Spec.Suspend || !next.AllSealed(recent) {
		w.queue.AddAfter(tc.Key(), unsealedTimeout) // no event may report the deletion of the last one
		return tc.Status.SealedSince
	}
	next.Factory.Adopting = false
	since := metav1.NewTime(next.Factory.Seals.Since())
	return &since
}

// unsealedTimeout is how long to wait for the deletion of children without a seal whose parent does not exist or match.
const unsealedTimeout = 5 * time.Minute

// recheckLater schedules another sync of a controller that is not allowed to read something, or watches a namespace that
// does not exist, to update the message.
func (w *statusWriter) recheckLater(next *controller.Controller) {
	switch {
	case next.Forbidden():
		w.queue.AddAfter(next.Name, permissions.CacheTTL)
	case len(next.AbsentNamespaces()) > 0:
		w.queue.AddAfter(next.Name, problem.SlowRetry)
	}
	matches := func(parent types.NamespacedName) bool { return next.Parent(parent) != nil }
	if w.events.RetryRefused(next.Name, next.As, matches) {
		w.queue.AddAfter(next.Name, problem.SlowRetry)
	}
}
