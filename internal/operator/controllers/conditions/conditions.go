package conditions

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// Facts are what the conditions of a TemplateController tell.
type Facts struct {
	// Rejection says why the spec makes no sense; nil = it does.
	Rejection *spec.Rejection
	Linted    metav1.Condition
	// Kind is that of the parents, KindErr why there is none.
	Kind    kind.Kind
	KindErr error
	// Ending says what a TemplateController that is being deleted waits for; nil = nothing.
	Ending *spec.Rejection
	// Suspended is whether spec.suspend is true, Finalizes whether parents may have the finalizer then.
	Suspended, Finalizes bool
	// Running is what it comes to: without parents where there is a Rejection or a KindErr.
	Running *running.Controller
	Counts  *status.Counts
	// Rival is another TemplateController that wants the ready condition of RivalParents parents; "" = none.
	Rival        string
	RivalParents int64
	// Parents and Failing are the counts and the failing parents that the status shows.
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
	case watching.Status != metav1.ConditionTrue:
		ready.Status, ready.Reason, ready.Message = watching.Status, watching.Reason, watching.Message
	case f.Suspended:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, v1.ReasonSuspended, "spec.suspend is true: nothing is created, changed or deleted"
		if f.Finalizes {
			ready.Message += ", and parents that are being deleted wait"
		}
	}
	return []metav1.Condition{accepted, f.Linted, watching, writableCondition(f), parentsCondition(f, watching), ready}
}

func acceptedCondition(f Facts) metav1.Condition {
	if f.Rejection != nil {
		return metav1.Condition{Type: v1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: f.Rejection.Reason, Message: f.Rejection.Message}
	}
	return metav1.Condition{Type: v1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: v1.ReasonAccepted, Message: "the spec makes sense"}
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
		return no(v1.ReasonListFailed, "cannot ask the API server for its kinds: "+problem.PublicReason(f.KindErr))
	}
	if reason, message := f.Running.Obstacle(); reason != "" {
		return no(reason, message)
	}
	message := "all kinds are watched"
	if without := f.Running.Without(); len(without) > 0 {
		message += "; left out, as they are optional: " + problem.Join(without)
	}
	if absent := f.Running.AbsentNamespaces(); len(absent) > 0 {
		message += "; of spec.watch.namespaces there is none called: " + problem.Join(absent)
	}
	return metav1.Condition{Type: v1.ConditionWatching, Status: metav1.ConditionTrue, Reason: v1.ReasonWatching, Message: message}
}

// adviceFor says what to do about a watched kind that is missing.
func adviceFor(err error) string {
	switch {
	case kind.Gone(err):
		return ": install its CustomResourceDefinition or API service, or correct spec.watch; templater then continues by itself, and children are kept until then"
	case kind.Away(err):
		return "; children stay as they are, and work goes on by itself when it is back"
	}
	return "; children stay as they are: have the CustomResourceDefinition serve that version, or correct spec.watch; work goes on by itself then"
}
