package readiness

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// notObserved is the message for an object whose status describes an earlier spec.
const notObserved = "its controller has not observed its current spec yet"

// compute returns the state of an object, based on the object alone. It uses kstatus, with exceptions: kstatus considers Jobs ready while they
// are running, does not detect all failed Pods and uses the current time for them, and ignores the observedGeneration of conditions.
func compute(content map[string]any) result {
	metadata, _ := content["metadata"].(map[string]any)
	state, _ := content["status"].(map[string]any)
	if metadata["deletionTimestamp"] != nil {
		return result{InProgress, "being deleted"}
	}
	u := &unstructured.Unstructured{Object: content}
	gk := u.GroupVersionKind().GroupKind()
	switch gk {
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return jobResult(content, state)
	case schema.GroupKind{Kind: "Pod"}:
		return podResult(state)
	}
	if state == nil && status.GetLegacyConditionsFn(u) == nil {
		return result{state: Ready} // kstatus is slower to return this for an object without status
	}
	computed, err := status.Compute(u)
	switch {
	case err != nil:
		return result{InProgress, "its status cannot be read"}
	case computed.Status == status.CurrentStatus && count(condition(state, "Ready"), "observedGeneration", generation(metadata)) < generation(metadata):
		return result{InProgress, notObserved}
	case computed.Status == status.CurrentStatus:
		return result{state: Ready}
	}
	reason := ""
	if len(computed.Conditions) > 0 {
		reason = computed.Conditions[0].Reason
	}
	if computed.Status == status.FailedStatus {
		return result{Failed, problem.WithReason("failed", reason)}
	}
	return result{InProgress, progressOf(gk, content, reason)}
}

// jobResult returns the state of a Job. It is ready when it is complete. A suspended Job is not ready, because its work is still to be done.
func jobResult(content, state map[string]any) result {
	if c := trueCondition(state, "Complete"); c != nil {
		return result{state: Ready}
	}
	if c := trueCondition(state, "Failed"); c != nil {
		return result{Failed, problem.WithReason("failed", text(c, "reason"))}
	}
	spec, _ := content["spec"].(map[string]any)
	switch completions := count(spec, "completions", count(spec, "parallelism", 1)); {
	case spec["suspend"] == true:
		return result{InProgress, "suspended"}
	case state["startTime"] == nil:
		return result{InProgress, "not started yet"}
	default:
		return result{InProgress, fmt.Sprintf("running, %d of %d Pods have succeeded", count(state, "succeeded", 0), completions)}
	}
}

// podResult returns the state of a Pod. A Pod that has succeeded is ready.
func podResult(state map[string]any) result {
	switch phase := text(state, "phase"); phase {
	case "Succeeded":
		return result{state: Ready}
	case "Failed":
		return result{Failed, problem.WithReason("failed", podReason(state, "terminated"))}
	default:
		reason := podReason(state, "waiting")
		switch {
		case trueCondition(state, "Ready") != nil && phase == "Running":
			return result{state: Ready}
		case reason == crashLoop: // even while it is pending, because of init containers
			return result{Failed, problem.WithReason("failed", reason)}
		case phase == "Running":
			return result{InProgress, problem.WithReason("running, but not ready", reason)}
		}
		if c := condition(state, "PodScheduled"); c["status"] == "False" {
			reason = text(c, "reason")
		}
		return result{InProgress, problem.WithReason("pending", reason)}
	}
}

// crashLoop is the waiting reason of a container that has terminated repeatedly.
const crashLoop = "CrashLoopBackOff"

// podReason returns the reason in the status of a Pod, or else of its first container in that state. It ignores reasons that mean that the
// container has completed or is about to start.
func podReason(state map[string]any, in string) string {
	if reason := text(state, "reason"); reason != "" {
		return reason
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		containers, _ := state[list].([]any)
		for _, each := range containers {
			container, _ := each.(map[string]any)
			now, _ := container["state"].(map[string]any)
			is, _ := now[in].(map[string]any)
			switch reason := text(is, "reason"); reason {
			case "", "Completed", "ContainerCreating", "PodInitializing":
			default:
				return reason
			}
		}
	}
	return ""
}

// progressOf describes why an object is not ready that kstatus reports as in progress.
func progressOf(gk schema.GroupKind, content map[string]any, reason string) string {
	spec, _ := content["spec"].(map[string]any)
	state, _ := content["status"].(map[string]any)
	want := count(spec, "replicas", 1)
	if reason == "LatestGenerationNotObserved" || reason == "NoObservedGeneration" || reason == "NoGeneration" {
		return notObserved
	}
	switch gk.Kind + "." + gk.Group {
	case "Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps":
		if ready := count(state, "readyReplicas", 0); ready < want {
			return fmt.Sprintf("%d of %d replicas are ready", ready, want)
		}
		if updated := count(state, "updatedReplicas", want); updated < want {
			return fmt.Sprintf("%d of %d replicas are up to date", updated, want)
		}
		return "its rollout is in progress"
	case "DaemonSet.apps":
		return fmt.Sprintf("%d of %d Pods are ready", count(state, "numberReady", 0), count(state, "desiredNumberScheduled", 0))
	case "PersistentVolumeClaim.":
		return "not bound yet"
	case "Service.":
		return "no address assigned yet"
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return "not established yet"
	}
	return problem.WithReason("not ready according to its conditions", reason)
}

// condition returns the condition of that type, or nil.
func condition(state map[string]any, kind string) map[string]any {
	conditions, _ := state["conditions"].([]any)
	for _, each := range conditions {
		if c, _ := each.(map[string]any); c["type"] == kind {
			return c
		}
	}
	return nil
}

// trueCondition returns the condition of that type if its status is True, or nil.
func trueCondition(state map[string]any, kind string) map[string]any {
	if c := condition(state, kind); c["status"] == "True" {
		return c
	}
	return nil
}

func generation(metadata map[string]any) int64 { return count(metadata, "generation", 0) }

// text returns the string value of a key, or "".
func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

// count returns the integer value of a key, or otherwise if there is none.
func count(m map[string]any, key string, otherwise int64) int64 {
	n, ok := m[key].(int64)
	if !ok {
		return otherwise
	}
	return n
}
