package reconcile

import (
	"github.com/templater-dev/templater/internal/reconcile/census"
	"github.com/templater-dev/templater/internal/reconcile/condition"
	"github.com/templater-dev/templater/internal/reconcile/fields"
)

// conditions is what completes the conditions of the parent.
func (p *pass) conditions() condition.Parent {
	status, _ := p.content()["status"].(map[string]any)
	return condition.Parent{
		Status: status, Generation: p.parent.Generation(), Generations: p.Kind.Status != nil && p.Kind.Status.ObservedGeneration,
		Own: p.ReadyCondition, Clock: p.r.clock,
	}
}

// withReady puts the ready condition into status, if the parent can hold it. Another
// manager's condition of that type is left alone.
func (p *pass) withReady(status map[string]any, v census.Verdict) map[string]any {
	if p.HoldsCondition() && !p.foreignCondition() {
		p.conditions().SetOwn(status, v.Status, v.Reason, v.Message)
	}
	return status
}

// foreignCondition reports whether another manager owns the ready condition.
func (p *pass) foreignCondition() bool {
	for manager, held := range p.parent.Conditions {
		if manager == p.Manager {
			continue
		}
		if _, ok := fields.Set(held).Item(map[string]any{"type": p.ReadyCondition}); ok {
			return true
		}
	}
	return false
}
