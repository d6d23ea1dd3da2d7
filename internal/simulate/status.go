package simulate

import (
	"cmp"
	"maps"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/condition"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/spec"
)

// conditions completes the conditions of the parent.
func (p *pass) conditions() condition.Parent {
	return condition.Parent{
		Status: mapping(p.state.Parent["status"]), Generation: p.parent.Generation(), Generations: p.parents.Status != nil && p.parents.Status.ObservedGeneration,
		Own: p.compiled.ReadyCondition, Clock: p.clock,
	}
}

// status renders the status template. Where that fails, or no template could be rendered, the status stays as it is.
func (p *pass) status(observed []*child.Live) (map[string]any, *problem.Problem) {
	own := maps.Clone(mapping(p.state.applied[parentID]["status"]))
	if own == nil {
		own = map[string]any{}
	}
	if p.related == nil { // see choose
		return own, nil
	}
	status, err := p.compiled.Program.Status(p.input(observed))
	if err != nil {
		return own, problem.FromTemplate(err)
	}
	if status == nil {
		status = map[string]any{}
	}
	status = condition.DropNulls(status)
	if fault := cmp.Or(p.conditions().Fill(status), p.factory.KeyFault(map[string]any{"status": status})); fault != "" {
		return own, problem.Newf(v1.ReasonTemplateError, "status: %s", fault)
	}
	return status, condition.DropUnknown(status, p.parents, p.compiled.Program.Wrote)
}

// writeStatus writes the status with the ready condition.
func (p *pass) writeStatus(status map[string]any) {
	if p.parents.Status == nil {
		return
	}
	_, held := mapping(p.state.applied[parentID]["status"])["conditions"]
	if p.parents.Status.Atomic && !held && p.conditions().HasOthers() {
		delete(status, "conditions")
	} else if v := p.result.Ready; spec.HoldsCondition(p.compiled.ReadyCondition, p.parents) {
		p.conditions().SetOwn(status, v.Status, v.Reason, v.Message)
	}
	p.result.Status = status
	if p.state.setStatus(status) {
		p.note(plan.Update, "", "the status of "+nameOf(p.state.Parent))
	}
}
