package reconcile

import (
	"cmp"
	"context"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// render renders the status template. If that fails or is impossible, or the child templates have used up the budget, which is already reported,
// it returns the current status.
func (s *statusWriter) render(ctx context.Context, observed []*child.Live) (content map[string]any, rendered bool, issue *problem.Problem) {
	in := &s.inputs
	if in.selectRelated() != nil || len(s.problems) > 0 && in.budget.UsedUp() {
		return s.own(), false, nil
	}
	kept := in.budget.Kept()
	content, err := s.Program.Status(in.forTemplates(observed))
	if s.moments.confirm(ctx) {
		s.next.Again = s.next.Again || s.Program.JudgesReadiness()
		content, err = s.Program.Status(in.forTemplates(observed))
	}
	in.settle(in.budget.Kept() - kept)
	if err != nil {
		return s.own(), false, problem.FromTemplate(err)
	}
	if content == nil {
		content = map[string]any{}
	}
	content = status.DropNulls(content)
	if fault := cmp.Or(s.conditions().Fill(content), s.Factory.KeyFault(map[string]any{"status": content})); fault != "" {
		return s.own(), true, problem.Newf(v1.ReasonTemplateError, "status: %s", fault)
	}
	return content, true, status.DropUnknown(content, s.Kind, s.Author())
}

// own returns the part of the parent's status that this controller owns.
func (s *statusWriter) own() map[string]any {
	current, _ := s.inputs.content()["status"].(map[string]any)
	owned, ok := s.parent.Applied(s.Manager, "status").Field("status")
	if !ok || current == nil {
		return map[string]any{}
	}
	kept, _ := owned.Extract(current).(map[string]any)
	return kept
}

// conditions describes the conditions of the parent.
func (s *statusWriter) conditions() status.Conditions {
	content, _ := s.inputs.content()["status"].(map[string]any)
	return status.Conditions{
		Status: content, Generation: s.parent.Generation(), Generations: s.Kind.Status != nil && s.Kind.Status.ObservedGeneration,
		Own: s.ReadyCondition, Clock: s.r.Clock,
	}
}

// withReady sets the ready condition in a status, if the schema allows it. If another field manager owns the condition, it is not changed. If
// another field manager owns an atomic list of conditions, no condition is changed.
func (s *statusWriter) withReady(content map[string]any, v status.Verdict) map[string]any {
	foreign, _ := s.foreignCondition()
	if foreign && s.Kind.Status != nil && s.Kind.Status.Atomic {
		delete(content, "conditions")
		return content
	}
	if s.HoldsCondition() && !foreign {
		s.conditions().SetOwn(content, v.Status, v.Reason, v.Message)
	}
	return content
}

// owners returns the other owners of the parent's status.
func (s *statusWriter) owners() status.Owners {
	return status.Owners{Parent: s.parent, Manager: s.Manager, MayWrite: func(name string) bool { return s.r.Controllers.MayWrite(name, s.GVK.GroupKind(), s.key.Parent) }}
}

// foreignCondition reports whether another field manager owns the ready condition: see status.Owners.
func (s *statusWriter) foreignCondition() (foreign bool, rival string) {
	switch {
	case s.conditionsOwned:
		return true, ""
	case s.Kind.Status != nil && s.Kind.Status.Atomic:
		return s.owners().OwnAll(s.conditions()), ""
	}
	return s.owners().OfCondition(s.ReadyCondition)
}
