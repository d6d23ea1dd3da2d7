package simulate

import (
	"slices"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/census"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/gate"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/teardown"
	"github.com/templater-dev/templater/internal/spec"
)

// gone is what is said of the readiness of a parent that is gone.
var gone = census.Verdict{Status: "False", Reason: v1.ReasonDeleting, Message: "the object is gone"}

// IsDeleting reports whether somebody has asked for the deletion of an object.
func IsDeleting(content map[string]any) bool {
	return mapping(content["metadata"])["deletionTimestamp"] != nil
}

// Deleted returns the State after somebody has asked for the deletion of the parent. Where that needs a finalizer, the parent has it.
func (s State) Deleted() State {
	s.Parent = deleted(s.Parent, s.Now)
	return s
}

// deleted returns an object that a finalizer holds after somebody has asked for its deletion.
func deleted(content map[string]any, now time.Time) map[string]any {
	generation, ok := mapping(content["metadata"])["generation"].(int64)
	if !ok {
		generation = 1
	}
	return Patch(content, map[string]any{"metadata": map[string]any{
		"deletionTimestamp": now.UTC().Format(time.RFC3339), "deletionGracePeriodSeconds": int64(0), "generation": generation + 1,
	}})
}

// teardown is the pass over a parent that is being deleted.
func (p *pass) teardown() {
	if teardown.Skipped(p.parent) || teardown.CascadesOrphan(p.parent) {
		p.release()
		return
	}
	if p.finalize() && p.removeInOrder() {
		p.release()
		return
	}
	if p.overtime() {
		p.result.Faults = append(p.result.Faults, teardown.WithoutRest)
		p.release()
		return
	}
	p.reportTeardown()
}

// overtime reports whether the cleanup has been attempted for longer than spec.finalize.timeout.
func (p *pass) overtime() bool {
	if !teardown.Answered(p.problems) {
		p.state.attempted = time.Time{}
		return false
	}
	if p.state.attempted.IsZero() {
		p.state.attempted = p.state.Now
	}
	timeout := spec.FinalizeTimeout(p.spec)
	return timeout > 0 && teardown.Left(timeout, p.state.attempted, p.state.Now) == 0
}

// finalize makes the objects of spec.finalize.children, and reports whether all of them are ready, or have been.
func (p *pass) finalize() bool {
	finals := spec.Finals(p.spec)
	if len(finals) == 0 || p.state.finished {
		return true
	}
	p.entries, p.order = finals, p.compiled.FinalOrder
	p.converge()
	observed, judge := p.look()
	p.problems = append(p.problems, gate.Of(p.order, &p.desired, judge).Waits(p.plan.Held)...)
	p.problems = append(p.problems, judge.Faults()...)
	p.state.finished, p.problems = teardown.Await(p.census(observed, judge), p.problems, p.plan.Pending == 0 && p.plan.Outdated == 0)
	return p.state.finished
}

// removeInOrder has those children go that are next, and reports whether none is left to go before the parent.
func (p *pass) removeInOrder() bool {
	observed, _ := p.look()
	first := teardown.First(p.spec, observed)
	if len(first) == 0 {
		return true
	}
	p.problems = append(p.problems, &problem.Problem{Reason: v1.ReasonFinalizing, Message: child.Going(first), Waiting: true})
	for _, l := range first {
		if !l.Object.Deleting() {
			p.state.askToDelete(l.ID())
			p.note(plan.Delete, l.Entry, l.ID().String())
		}
	}
	return false
}

// askToDelete has an object go, once no finalizer holds it.
func (s *State) askToDelete(id child.ID) {
	at := s.find(id)
	if holders, _ := mapping(s.Objects[at]["metadata"])["finalizers"].([]any); len(holders) == 0 {
		s.remove(id)
		return
	}
	s.Objects[at] = deleted(s.Objects[at], s.Now)
}

// reportTeardown tells what the parent waits for. Where the status template fails, for it may miss children that are gone, the rest of
// the status stays as it is.
func (p *pass) reportTeardown() {
	observed, judge := p.look()
	if p.related == nil {
		_ = p.choose() // then the status stays, too
	}
	status, _ := p.status(observed)
	p.result.Ready = census.Census{}.Verdict(p.problems, &p.plan)
	p.writeStatus(status)
	p.result.Children = p.children(observed, gate.Of(p.order, &p.desired, judge), judge)
}

// release has the parent go. The garbage collector takes the children that an owner reference binds to nobody else.
func (p *pass) release() {
	if spec.NeedsFinalizer(p.spec) {
		p.note(removal, "", "the finalizer of "+nameOf(p.state.Parent))
	}
	p.desired, p.problems = child.Desired{}, nil
	p.state.gone, p.result.Gone, p.result.Ready = true, true, gone
	p.state.collect(p.parent)
	observed, judge := p.look()
	p.result.Children = p.children(observed, nil, judge)
}

// collect is what the garbage collector does when the parent goes.
func (s *State) collect(parent *object.Object) {
	for _, content := range slices.Clone(s.Objects) {
		o := read(content)
		if _, bound := o.Owner(parent.UID()); !bound {
			continue
		}
		if id := child.IDOf(content); o.Owners() == 1 && !teardown.CascadesOrphan(parent) {
			s.askToDelete(id)
		} else {
			s.unbind(id, parent)
		}
	}
}

// unbind takes the owner reference to the parent from an object.
func (s *State) unbind(id child.ID, parent *object.Object) {
	at := s.find(id)
	references, _ := mapping(s.Objects[at]["metadata"])["ownerReferences"].([]any)
	references = slices.DeleteFunc(slices.Clone(references), func(r any) bool { return mapping(r)["uid"] == string(parent.UID()) })
	s.Objects[at] = Patch(s.Objects[at], map[string]any{"metadata": map[string]any{"ownerReferences": references}})
}
