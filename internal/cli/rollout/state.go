package rollout

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
)

// state is the state of a rollout.
type state struct {
	message string
	// done is true if the revision is rolled out, and failed if it will not be unless the spec changes.
	done, failed bool
}

// state returns the state of the rollout. id is the expected revision; "" means any.
func (r *Rollout) state(now *live, id string) state {
	s := now.Status
	accepted, progress := conditionOf(now, v1.ConditionAccepted), conditionOf(now, v1.ConditionProgressing)
	stopped := func(reasons ...string) bool {
		return progress.Status == metav1.ConditionFalse && slices.Contains(reasons, progress.Reason)
	}
	switch {
	case now.DeletionTimestamp != nil:
		return state{message: r.title() + " is being deleted", failed: true}
	case s.ObservedGeneration < now.Generation || s.ClassName == nil:
		return state{message: "Waiting for " + r.title() + " spec update to be observed..."}
	case accepted.Status == metav1.ConditionFalse:
		return r.failed("the spec of %s was rejected", accepted)
	case id != "" && id != s.UpdateRevision:
		return state{message: fmt.Sprintf("desired revision (%s) is different from the running revision (%s)", id, s.UpdateRevision), failed: true}
	case stopped(v1.ReasonPreflightFailed):
		return r.failed("the new revision of %s was refused by preflight, and the previous one keeps working", progress)
	case stopped(v1.ReasonRolloutHalted, v1.ReasonRevisionNotFound):
		return r.failed("the rollout of %s is halted", progress)
	case now.Spec.Suspend:
		return r.waiting("spec.suspend is true, so nothing is rolled out")
	case accepted.Status != metav1.ConditionTrue:
		return r.waiting("the spec is not accepted yet")
	}
	if watching := conditionOf(now, v1.ConditionWatching); watching.Status != metav1.ConditionTrue {
		return r.waiting("%s: %s", watching.Reason, watching.Message)
	}
	switch progress.Reason {
	case v1.ReasonRolloutPaused:
		return r.waiting("it is paused: %s; to continue, run %s", progress.Message, r.hint("resume"))
	case v1.ReasonApprovalRequired:
		return r.waiting("it needs approval: %s; to approve it, run %s", progress.Message, r.hint("approve"))
	case "", v1.ReasonRolloutComplete:
	default:
		return r.waiting("%s", progress.Message)
	}
	if s.CurrentRevision != s.UpdateRevision || s.Parents.Updated+s.Parents.Suspended < s.Parents.Total {
		return r.waiting("%d of %d parents have been updated", s.Parents.Updated, s.Parents.Total-s.Parents.Suspended)
	}
	return state{message: r.title() + " successfully rolled out", done: true}
}

func (r *Rollout) waiting(format string, args ...any) state {
	return state{message: fmt.Sprintf("Waiting for %s rollout to finish: %s...", r.title(), fmt.Sprintf(format, args...))}
}

func (r *Rollout) failed(format string, because metav1.Condition) state {
	return state{message: fmt.Sprintf(format, r.title()) + ": " + because.Reason + ": " + because.Message, failed: true}
}

// conditionOf returns a condition. If it does not exist, it has no fields.
func conditionOf(now *live, condition string) metav1.Condition {
	if c := meta.FindStatusCondition(now.Status.Conditions, condition); c != nil {
		return *c
	}
	return metav1.Condition{}
}
