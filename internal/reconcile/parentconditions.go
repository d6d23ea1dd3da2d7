package reconcile

import (
	"slices"
	"time"
)

// holdsCondition reports whether the parent can hold the ready condition.
func (p *pass) holdsCondition() bool {
	return p.readyCondition != "" && p.kind.Status != nil && p.kind.Status.Conditions == ""
}

// withReady puts the ready condition into status, if the parent can hold it. Another
// manager's condition of that type is left alone.
func (p *pass) withReady(status map[string]any, v verdict) map[string]any {
	if !p.holdsCondition() || p.foreignCondition() {
		return status
	}
	conditions, _ := status["conditions"].([]any)
	conditions = slices.DeleteFunc(slices.Clone(conditions), func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == p.readyCondition
	})
	condition := map[string]any{"type": p.readyCondition, "status": v.status, "reason": v.reason, "message": v.message}
	p.complement(condition)
	status["conditions"] = append(conditions, condition)
	return status
}

// foreignCondition reports whether another manager owns the ready condition.
func (p *pass) foreignCondition() bool {
	for manager, fields := range p.parent.Conditions {
		if manager == p.manager {
			continue
		}
		if _, ok := fieldSet(fields).item(map[string]any{"type": p.readyCondition}); ok {
			return true
		}
	}
	return false
}

// fillConditions completes the conditions that a status template yields. It
// returns what is wrong with them, or "".
func (p *pass) fillConditions(status map[string]any) string {
	value, ok := status["conditions"]
	if !ok {
		return ""
	}
	conditions, ok := value.([]any)
	if !ok {
		return "conditions is no list"
	}
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok {
			return "conditions holds something else than mappings"
		}
		if kind, _ := condition["type"].(string); kind == "" {
			return "a condition has no type"
		}
		switch s := condition["status"].(type) {
		case bool:
			condition["status"] = map[bool]string{true: "True", false: "False"}[s]
		case string:
		default:
			return "a condition has no status: give True, False or Unknown"
		}
		if condition["reason"] == nil || condition["reason"] == "" {
			condition["reason"] = condition["type"]
		}
		if condition["message"] == nil {
			condition["message"] = ""
		}
		p.complement(condition)
	}
	return ""
}

// complement adds what a condition owes to the parent: since when it has its
// status, and of which generation it speaks.
func (p *pass) complement(condition map[string]any) {
	if condition["lastTransitionTime"] == nil {
		condition["lastTransitionTime"] = p.transition(condition)
	}
	if p.kind.Status != nil && p.kind.Status.ObservedGeneration && condition["observedGeneration"] == nil {
		condition["observedGeneration"] = p.parent.Generation()
	}
}

// transition returns since when the parent has that condition in that status.
func (p *pass) transition(condition map[string]any) string {
	status, _ := p.content()["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		there, _ := c.(map[string]any)
		if there["type"] == condition["type"] && there["status"] == condition["status"] {
			if since, ok := there["lastTransitionTime"].(string); ok {
				return since
			}
		}
	}
	return p.r.clock.Now().UTC().Format(time.RFC3339)
}
