// Package readiness decides whether an object is ready, has failed or is in progress, and why. It has no side effects.
package readiness

import "github.com/templater-dev/templater/internal/kube/object"

// State is whether an object is ready.
type State int

const (
	// InProgress means that the object is not ready yet.
	InProgress State = iota
	// Ready means that the status matches the spec, and the work of the object is complete.
	Ready
	// Failed means that the object is not ready, and is unlikely to become ready without intervention.
	Failed
)

// result is the state of an object, and why it is not ready. The message contains no text from the object except a condition reason.
type result struct {
	state State
	why   string // "" if it is ready
}

// Of returns the state of a live object. A terminating object is not ready.
func Of(o *object.Object) State {
	switch {
	case o.Deleting():
		return InProgress
	case o.Noted(object.Ready):
		return Ready
	case o.Noted(object.Failing):
		return Failed
	case o.Noted(object.NotReady):
		return InProgress
	}
	s := compute(o.Content()).state
	o.Note(map[State]object.Fact{Ready: object.Ready, Failed: object.Failing, InProgress: object.NotReady}[s])
	return s
}

// IsReady reports whether an object with this content is ready.
func IsReady(content map[string]any) bool { return compute(content).state == Ready }

// Why returns a message why the object is not ready, or "". The message contains no field values except a condition reason.
func Why(content map[string]any) string { return compute(content).why }

// MayLag reports whether the status of an object may be stale without an observedGeneration to detect it. hasStatus is whether objects of the
// kind normally have a status. A status with an observedGeneration does not lag, and neither does the status of an object that has not changed
// since its creation. A Pod is an exception: even with an observedGeneration, its status may briefly describe containers that are about to be
// replaced.
func MayLag(content map[string]any, hasStatus bool) bool {
	state, _ := content["status"].(map[string]any)
	if state == nil {
		return hasStatus
	}
	metadata, _ := content["metadata"].(map[string]any)
	if count(metadata, "generation", 0) == 1 {
		return false
	}
	_, dated := state["observedGeneration"]
	_, conditionDated := condition(state, "Ready")["observedGeneration"]
	return !dated && !conditionDated || content["apiVersion"] == "v1" && content["kind"] == "Pod"
}
