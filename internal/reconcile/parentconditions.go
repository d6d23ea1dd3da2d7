package reconcile

import (
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
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
// manager's condition of that type is left alone, and so are all conditions where they are one list that another manager writes.
func (p *pass) withReady(status map[string]any, v census.Verdict) map[string]any {
	foreign, _ := p.foreignCondition()
	if foreign && p.Kind.Status != nil && p.Kind.Status.Atomic {
		delete(status, "conditions")
		return status
	}
	if p.HoldsCondition() && !foreign {
		p.conditions().SetOwn(status, v.Status, v.Reason, v.Message)
	}
	return status
}

// foreignCondition reports whether another manager owns the ready condition, or the whole list where that is one value. It also returns the
// TemplateController that owns the condition, or "". A condition that a deleted TemplateController has left is free.
func (p *pass) foreignCondition() (foreign bool, rival string) {
	if p.conditionsOwned {
		return true, ""
	}
	atomic := p.Kind.Status != nil && p.Kind.Status.Atomic
	named := false // whether an owner has the name of this manager, which others may use for updates
	for manager, held := range p.parent.Conditions {
		if manager == p.Manager {
			named = true
			continue
		}
		if atomic {
			return true, ""
		}
		if _, ok := fields.Set(held).Item(map[string]any{"type": p.ReadyCondition}); !ok {
			continue
		}
		name, ours := strings.CutPrefix(manager, v1.FieldManagerPrefix)
		if !ours {
			return true, ""
		}
		if p.r.controllers.MayWrite(name, p.GVK.GroupKind(), p.key.Parent) && (rival == "" || name < rival) {
			foreign, rival = true, name
		}
	}
	if !atomic {
		return foreign, rival
	}
	owned, _ := fields.Set(p.parent.Applied(p.Manager, "status")).Field("status")
	_, held := owned.Field("conditions")
	return !held && (named || p.conditions().HasOthers()), ""
}
