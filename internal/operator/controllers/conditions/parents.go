package conditions

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// parentsCondition says whether the parents are ready, for health checks. It is False while any parent fails, also in the middle of an
// update, so that it does not change its status back and forth.
func parentsCondition(f Facts, watching metav1.Condition) metav1.Condition {
	condition := metav1.Condition{Type: v1.ConditionParentsReady, Status: metav1.ConditionUnknown}
	n := f.Parents
	switch pending := n.Total - n.Updated - n.Suspended; {
	case f.Rejection != nil && n.Total > 0:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, v1.ReasonNotAccepted, problem.Count(int(n.Total), "parent is", "parents are")+" not reconciled until the spec is accepted"
	case watching.Status != metav1.ConditionTrue:
		condition.Reason, condition.Message = watching.Reason, "unknown until the kinds are watched: see the condition Watching"
	case n.Failed > 0:
		condition.Status, condition.Reason = metav1.ConditionFalse, v1.ReasonParentsFailed
		condition.Message = fmt.Sprintf("%d of %d parents have failed, for example %s", n.Failed, n.Total, problem.JoinFunc(f.Failing[:min(len(f.Failing), problem.MostListed)], nameOf))
	case pending > 0:
		condition.Reason, condition.Message = v1.ReasonProgressing, fmt.Sprintf("%d of %d parents are not yet reconciled with the current spec", pending, n.Total)
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1.ReasonParentsReady
		condition.Message = fmt.Sprintf("no parent has failed: %d ready, %d waiting, %d suspended", n.Ready, n.Waiting, n.Suspended)
	}
	return condition
}

// nameOf names a failing parent, and says why it fails.
func nameOf(p v1.FailingParent) string {
	name := p.Name
	if p.Namespace != "" {
		name = p.Namespace + "/" + name
	}
	return fmt.Sprintf("%s (%s)", name, p.Reason)
}
