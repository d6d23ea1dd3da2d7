// Package conditions computes the conditions of a TemplateController.
package conditions

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
	"github.com/templater-dev/templater/internal/render/finding"
)

// Facts are the inputs of the conditions of a TemplateController.
type Facts struct {
	// Rejection is why the spec is rejected; nil = it is accepted.
	Rejection *spec.Rejection
	// Refused is why the latest spec is rejected, while the previous revision runs; nil = it is accepted, or nothing runs.
	Refused *spec.Rejection
	// Progressing is the Progressing condition; nil = there is none.
	Progressing *metav1.Condition
	Linted      metav1.Condition
	// Kind is the kind of the parents, KindErr why it cannot be resolved.
	Kind    kind.Kind
	KindErr error
	// Ending describes what a TemplateController that is being deleted waits for; nil = nothing.
	Ending *spec.Rejection
	// Suspended is spec.suspend. Finalizes: parents may have the finalizer.
	Suspended, Finalizes bool
	// CRD is the CRDReady condition; nil = there is no spec.crd, or it is not known yet.
	CRD *metav1.Condition
	// Running is the controller; it has no parents if Rejection or KindErr is set.
	Running *controller.Controller
	Counts  *status.Counts
	// Rival is another TemplateController that writes the ready condition of RivalParents parents; "" = none.
	Rival        string
	RivalParents int64
	// Parents and Failing are the counts and the failing parents in the status.
	Parents v1.ParentCounts
	Failing []v1.FailingParent
}

// Of returns the conditions that each TemplateController has, without times and generation.
func Of(f Facts) []metav1.Condition {
	accepted, watching := acceptedCondition(f), watchingCondition(f)
	ready := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonReady, Message: "accepted and watching"}
	switch {
	case f.Ending != nil:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, f.Ending.Reason, f.Ending.Message
	case accepted.Status != metav1.ConditionTrue:
		ready.Status, ready.Reason, ready.Message = accepted.Status, accepted.Reason, accepted.Message
	case f.Progressing != nil && f.Progressing.Reason == v1.ReasonPreflightRunning:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionUnknown, f.Progressing.Reason, f.Progressing.Message
	case f.Progressing != nil && f.Progressing.Reason == v1.ReasonPreflightFailed:
		ready.Status, ready.Reason, ready.Message = f.Progressing.Status, f.Progressing.Reason, f.Progressing.Message
	case f.CRD != nil && f.CRD.Status != metav1.ConditionTrue:
		ready.Status, ready.Reason, ready.Message = f.CRD.Status, f.CRD.Reason, f.CRD.Message
	case watching.Status != metav1.ConditionTrue:
		ready.Status, ready.Reason, ready.Message = watching.Status, watching.Reason, watching.Message
	case f.Suspended:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, v1.ReasonSuspended, "spec.suspend is true: nothing is created, changed or deleted"
		if f.Finalizes {
			ready.Message += ", and the cleanup of parents that are being deleted is paused"
		}
	}
	all := []metav1.Condition{accepted, f.Linted, watching, writableCondition(f), parentsCondition(f, watching), ready}
	if f.CRD != nil {
		all = append(all, *f.CRD)
	}
	if f.Progressing != nil {
		all = append(all, *f.Progressing)
	}
	return all
}

func acceptedCondition(f Facts) metav1.Condition {
	if f.Rejection != nil {
		return metav1.Condition{Type: v1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: f.Rejection.Reason, Message: f.Rejection.Message}
	}
	if f.Refused != nil {
		return metav1.Condition{Type: v1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: f.Refused.Reason, Message: f.Refused.Message + "; the last accepted revision keeps working"}
	}
	return metav1.Condition{Type: v1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: v1.ReasonAccepted, Message: "the spec is valid"}
}

func watchingCondition(f Facts) metav1.Condition {
	no := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1.ConditionWatching, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	switch {
	case f.Rejection != nil:
		return no(v1.ReasonNotAccepted, "nothing is watched until the spec is accepted")
	case kind.Missing(f.KindErr):
		return no(v1.ReasonKindNotFound, f.KindErr.Error()+adviceFor(f.KindErr))
	case f.KindErr != nil:
		return no(v1.ReasonListFailed, "API discovery failed: "+problem.PublicReason(f.KindErr))
	}
	if reason, message := f.Running.Obstacle(); reason != "" {
		return no(reason, message)
	}
	message := "all kinds are watched"
	if without := f.Running.Without(); len(without) > 0 {
		message += "; optional related objects that cannot be read: " + problem.Join(without)
	}
	if absent := f.Running.AbsentNamespaces(); len(absent) > 0 {
		message += "; namespaces in spec.watch.namespaces that do not exist: " + problem.Join(absent)
	}
	return metav1.Condition{Type: v1.ConditionWatching, Status: metav1.ConditionTrue, Reason: v1.ReasonWatching, Message: message}
}

// adviceFor describes how to fix a watched kind that is missing.
func adviceFor(err error) string {
	switch {
	case kind.Gone(err):
		return ": install its CustomResourceDefinition or APIService, or correct spec.watch; until then, children are kept"
	case kind.IsCRDTerminating(err):
		return "; to continue, create it again, or correct spec.watch; until then, children are left unchanged"
	case kind.IsAPIServiceUnavailable(err):
		return "; until it is served again, children are left unchanged"
	}
	return ": serve that version in the CustomResourceDefinition, or correct spec.watch; until then, children are left unchanged"
}

// Linted returns the Linted condition. If there are errors, there may be more warnings than were found.
func Linted(all []finding.Finding, rejected bool) metav1.Condition {
	warnings := finding.Of(finding.Warning, all)
	switch count := len(warnings); {
	case count == 0 && rejected:
		return metav1.Condition{Type: v1.ConditionLinted, Status: metav1.ConditionUnknown, Reason: v1.ReasonNotAccepted, Message: "unknown until the spec is accepted"}
	case count == 0:
		return metav1.Condition{Type: v1.ConditionLinted, Status: metav1.ConditionTrue, Reason: v1.ReasonNoWarnings, Message: "no warnings"}
	default:
		message := problem.Count(count, "warning", "warnings") + ": "
		return metav1.Condition{Type: v1.ConditionLinted, Status: metav1.ConditionFalse, Reason: v1.ReasonWarnings, Message: message + problem.JoinFunc(warnings, finding.Finding.String)}
	}
}

// writableCondition reports whether the parents' status can be written, and can hold the ready condition.
func writableCondition(f Facts) metav1.Condition {
	condition := metav1.Condition{Type: v1.ConditionStatusWritable, Status: metav1.ConditionTrue, Reason: v1.ReasonStatusWritable, Message: "the ready condition can be written to parents"}
	no := func(reason, message string) {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reason, message
	}
	unknown := func() {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionUnknown, v1.ReasonNotAccepted, "unknown until the kind is watched"
	}
	kind := f.Kind
	switch {
	case f.Rejection != nil || f.KindErr != nil:
		unknown()
	case len(f.Counts.Denied) > 0:
		no(v1.ReasonForbidden, f.Counts.Denied.First())
	case len(f.Counts.Contested) > 0:
		no(v1.ReasonFieldOwned, fmt.Sprintf("%s, so this TemplateController does not write it to %s: remove it from one of them, or make them select different parents", f.Counts.Contested.First(), parents(f.Counts.Contested.Parents())))
	case f.Running.WritesStatus() && f.Running.ParentsForbidden():
		unknown()
	case f.Running.ReadyCondition == "":
		condition.Message = "no ready condition is configured: spec.status.readyCondition is empty"
	case !kind.Custom:
		no(v1.ReasonBuiltInKind, kind.Kind+" is not a custom resource, so its status is not written: see the Events of the parents")
	case kind.Status == nil:
		no(v1.ReasonNoStatusSubresource, kind.Kind+" has no status subresource: the ready condition is not written; add \"subresources: {status: {}}\" to its CustomResourceDefinition")
	case kind.Status.Conditions != "":
		no(v1.ReasonNoConditions, "the ready condition is not written: "+kind.Status.Conditions)
	case f.Rival != "":
		no(v1.ReasonConditionOwned, fmt.Sprintf("%s also writes the %s condition of %s: the first writer keeps it; set a different spec.status.readyCondition in one of them, or select different parents",
			problem.PublicController(f.Rival), f.Running.ReadyCondition, parents(f.RivalParents)))
	case f.Counts.Foreign > 0 && kind.Status.Atomic:
		no(v1.ReasonConditionOwned, fmt.Sprintf("another field manager owns .status.conditions of %s, so templater does not write it there: the schema declares the list as atomic; "+
			"declare it with x-kubernetes-list-type: map and x-kubernetes-list-map-keys: [type]", parents(f.Counts.Foreign)))
	case f.Counts.Foreign > 0:
		no(v1.ReasonConditionOwned, fmt.Sprintf("another field manager owns the %s condition of %s, so templater does not write it there: set spec.status.readyCondition to another type", f.Running.ReadyCondition, parents(f.Counts.Foreign)))
	}
	return condition
}

// parents returns the number of parents as text.
func parents(n int64) string { return problem.Count(int(n), "parent", "parents") }

// parentsCondition reports whether all parents are ready or suspended. It is False while any parent fails, even in the
// middle of an update, so that it does not flap.
func parentsCondition(f Facts, watching metav1.Condition) metav1.Condition {
	condition := metav1.Condition{Type: v1.ConditionParentsReady, Status: metav1.ConditionUnknown}
	n := f.Parents
	switch pending := n.Total - n.Updated - n.Suspended; {
	case f.Rejection != nil && n.Total > 0:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, v1.ReasonNotAccepted, problem.Count(int(n.Total), "parent is", "parents are")+" not reconciled until the spec is accepted"
	case watching.Status != metav1.ConditionTrue:
		condition.Reason, condition.Message = watching.Reason, "unknown until the kinds are watched: see the Watching condition"
	case n.Failed > 0:
		condition.Status, condition.Reason = metav1.ConditionFalse, v1.ReasonParentsFailed
		condition.Message = fmt.Sprintf("%d of %d parents have failed, for example %s", n.Failed, n.Total, problem.JoinFunc(f.Failing[:min(len(f.Failing), problem.MaxListed)], nameOf))
	case pending > 0:
		condition.Reason, condition.Message = v1.ReasonProgressing, fmt.Sprintf("%d of %d parents are not yet reconciled with the current spec", pending, n.Total)
	case n.Waiting > 0:
		condition.Reason, condition.Message = v1.ReasonProgressing, fmt.Sprintf("%d of %d parents are not ready yet", n.Waiting, n.Total)
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1.ReasonParentsReady
		condition.Message = fmt.Sprintf("%d ready, %d suspended", n.Ready, n.Suspended)
	}
	return condition
}

// nameOf returns the name of a failing parent, and why it fails.
func nameOf(p v1.FailingParent) string {
	name := p.Name
	if p.Namespace != "" {
		name = p.Namespace + "/" + name
	}
	return fmt.Sprintf("%s (%s)", name, p.Reason)
}
