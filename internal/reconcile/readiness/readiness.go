// Package readiness decides whether an object is ready, has failed or is in progress, and why. Pure.
package readiness

import "github.com/templater-dev/templater/internal/kube/object"

// State is whether an object is ready.
type State int

const (
	// InProgress is an object that is not ready yet.
	InProgress State = iota
	// Ready is an object that is ready: it is as its spec says, and what it is to do is done.
	Ready
	// Failed is an object that is not ready and will hardly become so by itself.
	Failed
)

// result is the state of an object, and why it is not ready: in words of ours, with no text of the object but
// the reason word of a condition.
type result struct {
	state State
	why   string // "" for one that is ready
}

// Of returns the state of a live object. One that is being deleted is not ready.
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

// IsReady is the same for the content of an object: whether it is ready.
func IsReady(content map[string]any) bool { return compute(content).state == Ready }

// Why says why an object is not ready, in words that hold nothing of it but the reason of a condition; it returns "" for
// one that is ready.
func Why(content map[string]any) string { return compute(content).why }

// MayLag reports whether the status of an object may still describe its spec before the last change without showing that; reports is
// whether a status is to be expected of its kind. A status with an observedGeneration does not lag, nor does that of an object that was not
// changed since its creation. That of a Pod does: for a moment it describes containers that are yet to be replaced.
func MayLag(content map[string]any, reports bool) bool {
	state, _ := content["status"].(map[string]any)
	if state == nil {
		return reports
	}
	metadata, _ := content["metadata"].(map[string]any)
	if count(metadata, "generation", 0) == 1 {
		return false
	}
	_, dated := state["observedGeneration"]
	_, conditionDated := condition(state, "Ready")["observedGeneration"]
	return !dated && !conditionDated || content["apiVersion"] == "v1" && content["kind"] == "Pod"
}
