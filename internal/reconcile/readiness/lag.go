package readiness

// MayLag reports whether the status of an object may still be about what its spec was before the last change, and nothing in
// it tells; reports is whether a status is to be expected of its kind. A status that says which generation it is about, and
// one of an object that is as it was made, does not lag. That of a Pod does: for a moment it is about containers that are yet to be replaced.
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
