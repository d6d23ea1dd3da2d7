package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/operator/controllers/conditions"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// ownWriter is the field manager for TemplateControllers, and what marks own
// writes of them in their cache.
const ownWriter = "templater"

// writeStatus writes the status of a TemplateController if it differs.
func (c *Controllers) writeStatus(ctx context.Context, tc *v1.TemplateController, e *tracked, a assembly, next *running.Controller) error {
	status := c.statusOf(tc, e, a, next)
	e.meter.Ready(meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady))
	if apiequality.Semantic.DeepEqual(status, tc.Status) {
		return nil
	}
	err := c.applyStatus(ctx, tc, status)
	if reconcile.Unfit(err) { // a TemplateController may be about as large as an object may be
		for i := range status.Conditions {
			status.Conditions[i].Message = object.Line(status.Conditions[i].Message, reconcile.ShortMessage)
		}
		err = c.applyStatus(ctx, tc, status)
	}
	if err != nil {
		return err
	}
	c.noteVersion(e)
	return nil
}

// errBehind says that a TemplateController is not what it was when it was read; the watch is about
// to bring what it is.
var errBehind = errors.New("the TemplateController was changed in the meantime")

// applyStatus writes the status of the very version of a TemplateController that was read, and so
// never over what somebody else, who serves it, has written since. The error
// is errBehind when it was another version.
func (c *Controllers) applyStatus(ctx context.Context, tc *v1.TemplateController, status v1.TemplateControllerStatus) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return fmt.Errorf("status of TemplateController %s: %w", tc.Name, err)
	}
	body := object.Append(nil, map[string]any{
		"apiVersion": v1.GroupVersion.String(), "kind": v1.KindTemplateController,
		"metadata": map[string]any{"name": tc.Name, "uid": string(tc.UID), "resourceVersion": tc.ResourceVersion}, "status": content,
	})
	after, err := c.clusters("").ApplyStatus(ctx, request.Location{Resource: v1.Resource, Name: tc.Name}, body, ownWriter, true)
	switch {
	case request.MissingObject(err):
		return nil // deleted meanwhile
	case apierrors.IsConflict(err):
		return errBehind
	case err != nil:
		return fmt.Errorf("write status of TemplateController %s: %w", tc.Name, err)
	}
	c.cache.Put(after, ownWriter)
	return nil
}

// statusOf is the status that a TemplateController should have.
func (c *Controllers) statusOf(tc *v1.TemplateController, e *tracked, a assembly, next *running.Controller) v1.TemplateControllerStatus {
	sealedSince, known := c.sealedSince(tc, e, a, next), c.parentsOf(tc, e, a, next)
	c.mu.RLock()
	defer c.mu.RUnlock()
	status := v1.TemplateControllerStatus{
		ObservedGeneration: tc.Generation,
		ClassName:          &c.class,
		Conditions:         slices.Clone(tc.Status.Conditions),
		Parents:            e.counts.Parents,
		Failing:            e.counts.Failing(tc.Status.Failing),
		Children:           e.counts.Children,
		ChildNamespaces:    slices.Sorted(maps.Keys(e.namespaces)),
		SealedSince:        sealedSince,
		Finalizes:          a.mayHold(tc) && !e.released,
	}
	left := recountTime - c.clock.Since(e.since)
	recounting := left > 0 && e.counts.Parents.Total < tc.Status.Parents.Total && !known.counted
	if recounting {
		status.Parents, status.Children, status.Failing = tc.Status.Parents, tc.Status.Children, tc.Status.Failing
		if tc.Status.ObservedGeneration != tc.Generation {
			status.Parents.Updated = e.counts.Parents.Updated
		}
		c.queue.AddAfter(tc.Name, left) // once more: in the queue, what comes sooner has replaced what was to come then
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
	facts.Rival, facts.RivalParents = c.rival(tc.Name, e)
	for _, condition := range conditions.Of(facts) {
		if recounting && condition.Type == v1.ConditionStatusWritable && ownedByOthers(tc) {
			continue // as far as is known
		}
		c.setCondition(&status, tc, condition)
	}
	c.tellOfTries(tc, &status, next, left)
	return status
}

// knownParents is about the parents in the caches.
type knownParents struct {
	total    int64 // 0 unless complete
	complete bool  // whether the caches hold all of them
	counted  bool  // whether they are all counted, where the status has more parents than that
}

// parentsOf looks at the parents in the caches, without the lock: that may evaluate the filter.
func (c *Controllers) parentsOf(tc *v1.TemplateController, e *tracked, a assembly, next *running.Controller) (known knownParents) {
	if len(next.Parents) > 0 && (!next.Rejected || next.ReportsRejection) && next.ParentsComplete() {
		known.total, known.complete = int64(next.CountParents()), true
	}
	c.mu.RLock()
	fewer := e.counts.Parents.Total < tc.Status.Parents.Total && c.clock.Since(e.since) < recountTime
	c.mu.RUnlock()
	known.counted = fewer && c.countsAll(e, a, next)
	return known
}

// tellOfTries says in the status what passes have tried in vain: to write Events, and to read logs.
func (c *Controllers) tellOfTries(tc *v1.TemplateController, status *v1.TemplateControllerStatus, next *running.Controller, left time.Duration) {
	var events, logs *metav1.Condition
	var moreOfEvents, moreOfLogs bool
	if next != nil {
		events, moreOfEvents = conditions.Events(next, c.events)
		logs, moreOfLogs = conditions.Logs(next, c.logs.Failures(next.Name))
	}
	var filter *metav1.Condition
	if next != nil {
		filter = conditions.Filter(next)
	}
	c.setWhileFalse(tc, status, v1.ConditionFilterEvaluated, filter, left)
	if !moreOfEvents {
		c.setWhileFalse(tc, status, v1.ConditionEventsWritable, events, left)
	}
	if !moreOfLogs {
		c.setWhileFalse(tc, status, v1.ConditionLogsReadable, logs, left)
	}
}

// setWhileFalse puts a condition of that type into the status that is there only while it is False; nil is for not at all. An operator
// that has so much time left until it knows has tried nothing, and says what the last one did.
func (c *Controllers) setWhileFalse(tc *v1.TemplateController, status *v1.TemplateControllerStatus, kind string, now *metav1.Condition, left time.Duration) {
	before := meta.FindStatusCondition(tc.Status.Conditions, kind)
	switch {
	case now == nil && before == nil:
	case now != nil:
		c.setCondition(status, tc, *now)
	case left > 0:
		c.queue.AddAfter(tc.Name, left)
	default:
		meta.RemoveStatusCondition(&status.Conditions, kind)
	}
}

// setCondition puts a condition into the status of a TemplateController, with a message as it may be told. All of them come from
// here.
func (c *Controllers) setCondition(status *v1.TemplateControllerStatus, tc *v1.TemplateController, condition metav1.Condition) {
	condition.Message = problem.Line(condition.Message)
	condition.ObservedGeneration = tc.Generation
	condition.LastTransitionTime = metav1.NewTime(c.clock.Now().Truncate(time.Second))
	meta.SetStatusCondition(&status.Conditions, condition) //nolint:forbidigo // this is the place
}

// ownedByOthers reports whether the status says that other managers own the ready condition of
// parents or fields of their status, for the present spec.
func ownedByOthers(tc *v1.TemplateController) bool {
	before := meta.FindStatusCondition(tc.Status.Conditions, v1.ConditionStatusWritable)
	return before != nil && (before.Reason == v1.ReasonConditionOwned || before.Reason == v1.ReasonFieldOwned) && before.ObservedGeneration == tc.Generation
}

// facts are what the conditions tell.
func (a *assembly) facts(tc *v1.TemplateController, next *running.Controller, counts *status.Counts) conditions.Facts {
	return conditions.Facts{
		Rejection: a.rejection, Linted: a.linted, Kind: a.kind, KindErr: a.kindErr, Ending: a.ending,
		Suspended: tc.Spec.Suspend, Finalizes: a.mayHold(tc), Running: next, Counts: counts,
	}
}
