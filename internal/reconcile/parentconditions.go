package reconcile

import (
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/census"
	"github.com/templater-dev/templater/internal/reconcile/condition"
	"github.com/templater-dev/templater/internal/reconcile/fields"
)

// conditions is what completes the conditions of the parent.
func (rec *reconciliation) conditions() condition.Parent {
	status, _ := rec.content()["status"].(map[string]any)
	return condition.Parent{
		Status: status, Generation: rec.parent.Generation(), Generations: rec.Kind.Status != nil && rec.Kind.Status.ObservedGeneration,
		Own: rec.ReadyCondition, Clock: rec.r.Clock,
	}
}

// withReady puts the ready condition into status, if the parent can hold it. Another
// manager's condition of that type is left alone, and so are all conditions where they are one list that another manager writes.
func (rec *reconciliation) withReady(status map[string]any, v census.Verdict) map[string]any {
	foreign, _ := rec.foreignCondition()
	if foreign && rec.Kind.Status != nil && rec.Kind.Status.Atomic {
		delete(status, "conditions")
		return status
	}
	if rec.HoldsCondition() && !foreign {
		rec.conditions().SetOwn(status, v.Status, v.Reason, v.Message)
	}
	return status
}

// foreignCondition reports whether another manager owns the ready condition, or the whole list where that is one value. It also returns the
// TemplateController that owns the condition, or "". A condition that a deleted TemplateController has left is free.
func (rec *reconciliation) foreignCondition() (foreign bool, rival string) {
	if rec.conditionsOwned {
		return true, ""
	}
	atomic := rec.Kind.Status != nil && rec.Kind.Status.Atomic
	named := false // whether an owner has the name of this manager, which others may use for updates
	for manager, held := range rec.parent.Conditions {
		if manager == rec.Manager {
			named = true
			continue
		}
		if atomic {
			return true, ""
		}
		if _, ok := fields.Set(held).Item(map[string]any{"type": rec.ReadyCondition}); !ok {
			continue
		}
		name, ours := strings.CutPrefix(manager, v1.FieldManagerPrefix)
		if !ours {
			return true, ""
		}
		if rec.r.Controllers.MayWrite(name, rec.GVK.GroupKind(), rec.key.Parent) && (rival == "" || name < rival) {
			foreign, rival = true, name
		}
	}
	if !atomic {
		return foreign, rival
	}
	owned, _ := fields.Set(rec.parent.Applied(rec.Manager, "status")).Field("status")
	_, held := owned.Field("conditions")
	return !held && (named || rec.conditions().HasOthers()), ""
}
