package conditions

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// writableCondition says whether the parents' status can be written, and hold the ready condition.
func writableCondition(f Facts) metav1.Condition {
	condition := metav1.Condition{Type: v1.ConditionStatusWritable, Status: metav1.ConditionTrue, Reason: v1.ReasonStatusWritable, Message: "parents can hold the ready condition"}
	no := func(reason, message string) {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reason, message
	}
	unknown := func() {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionUnknown, v1.ReasonNotAccepted, "not known until the kind is watched"
	}
	kind := f.Kind
	switch {
	case f.Rejection != nil || f.KindErr != nil:
		unknown()
	case len(f.Counts.Denied) > 0:
		no(v1.ReasonForbidden, f.Counts.Denied.First())
	case len(f.Counts.Contested) > 0:
		no(v1.ReasonFieldOwned, fmt.Sprintf("%s, and left alone in %s: have one of the two leave it out, or select other parents", f.Counts.Contested.First(), parents(f.Counts.Contested.Parents())))
	case f.Running.WritesStatus() && f.Running.ParentsForbidden():
		unknown()
	case f.Running.ReadyCondition == "":
		condition.Message = "no ready condition is asked for"
	case !kind.Custom:
		no(v1.ReasonBuiltInKind, kind.Kind+" is no custom kind: templater reports by Events alone")
	case kind.Status == nil:
		no(v1.ReasonNoStatusSubresource, kind.Kind+" has no status subresource: the ready condition is left out; add \"subresources: {status: {}}\" to its CustomResourceDefinition")
	case kind.Status.Conditions != "":
		no(v1.ReasonNoConditions, "the ready condition is left out: "+kind.Status.Conditions)
	case f.Rival != "":
		no(v1.ReasonConditionOwned, fmt.Sprintf("TemplateController %s also writes the condition %s of %s: the first to write it keeps it; give one of the two another spec.status.readyCondition, or let them select different parents",
			problem.PublicName(f.Rival), f.Running.ReadyCondition, parents(f.RivalParents)))
	case f.Counts.Foreign > 0 && kind.Status.Atomic:
		no(v1.ReasonConditionOwned, fmt.Sprintf("another field manager owns .status.conditions of %s, where templater leaves it alone: the schema declares the list as atomic; "+
			"declare it with x-kubernetes-list-type: map and x-kubernetes-list-map-keys: [type]", parents(f.Counts.Foreign)))
	case f.Counts.Foreign > 0:
		no(v1.ReasonConditionOwned, fmt.Sprintf("another manager owns the condition %s of %s, where it is left alone: give spec.status.readyCondition another type", f.Running.ReadyCondition, parents(f.Counts.Foreign)))
	}
	return condition
}

// parents says how many parents there are.
func parents(n int64) string { return problem.Count(int(n), "parent", "parents") }
