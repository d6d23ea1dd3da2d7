package simulate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/budget"
)

// Pass reconciles the parent once, and returns the State afterwards. The error says why there is no such parent: see Matches.
func (s *Simulator) Pass(in State) (Result, State, error) {
	if why := s.Matches(in.Parent); why != "" {
		return Result{}, in, fmt.Errorf("%s is not a parent: %s", nameOf(in.Parent), why)
	}
	if in.gone {
		return Result{Gone: true, Ready: gone}, in, nil
	}
	next := s.Placed(in.copy())
	if err := next.check(); err != nil {
		return Result{}, in, err
	}
	if IsDeleting(next.Parent) {
		next.Parent = s.held(next.Parent)
	}
	next.Objects = s.vouched(next)
	w, err := s.reconcile(next)
	if err != nil {
		return Result{}, in, err
	}
	return w.result()
}

// mostOpened is how often a reconciliation begins anew because more objects turn out to be children, or more kinds of them are to be read.
const mostOpened = 20

// reconcile reconciles the parent in a world in which all kinds of children are read, and objects that templates yield are children.
func (s *Simulator) reconcile(in State) (*world, error) {
	var kinds []schema.GroupVersionKind
	for range mostOpened {
		w, err := s.open(in, kinds)
		if err != nil {
			return nil, err
		}
		w.reconcile()
		if len(w.unread) > 0 {
			kinds = append(kinds, w.unread...)
			continue
		}
		objects, changed := s.adopted(in, w.report.Desired.Wanted)
		if !changed {
			return w, nil
		}
		in.Objects = objects
	}
	return nil, fmt.Errorf("%s: its templates render different kinds or names each time", nameOf(in.Parent))
}

// held returns a parent that is being deleted with the finalizer, which it has had since before where its deletion needs one.
func (s *Simulator) held(parent map[string]any) map[string]any {
	name := v1.FinalizerParentPrefix + s.name
	if !spec.NeedsFinalizer(s.spec) || read(parent).HasFinalizer(name) {
		return parent
	}
	finalizers, _ := Map(parent["metadata"])["finalizers"].([]any)
	return Patch(parent, map[string]any{"metadata": map[string]any{"finalizers": append(append([]any{}, finalizers...), name)}})
}

// pass is a reconciliation that is over.
type pass struct {
	*world
	parent   *object.Object // as it was before
	budget   budget.Pass
	observed []*child.Live // the children afterwards
	gone     bool
}

// result returns what the reconciliation has come to.
func (w *world) result() (Result, State, error) {
	started := w.state
	p := &pass{world: w, parent: read(started.Parent)}
	p.budget.Begin(nil)
	w.orphan()
	if p.gone = w.isReleased(); p.gone {
		w.server.Remove(w.parent)
		w.collect(p.parent)
	}
	for w.server.CompleteDeletions() {
	}
	var err error
	if p.observed, err = w.observed(p.parent); err != nil {
		return Result{}, started, err
	}
	out := Result{Gone: p.gone, Ready: w.report.Verdict, Status: w.report.Status, Related: w.report.Related, Writes: w.writes()}
	out.changed = w.server.Version != w.began
	next := w.close()
	if p.gone {
		next.gone, out.Ready, w.report.Desired = true, gone, child.Desired{}
		if w.report.TimedOut {
			out.Faults = append(out.Faults, reconcile.FinalizeTimedOut)
		}
	} else {
		out.tell(&w.report)
	}
	w.report.Desired.Pair(p.observed)
	judge := p.judge()
	out.Children = p.children(plan.NewDependencies(p.entryOrder(), &w.report.Desired, judge), judge)
	return out, next, nil
}

// entryOrder is that of the child templates that were rendered.
func (p *pass) entryOrder() *spec.Order {
	switch {
	case p.gone:
		return nil
	case p.parent.Deleting():
		return p.compiled.FinalOrder
	}
	return p.compiled.Order
}

// tell adds the problems of a report.
func (r *Result) tell(report *status.Report) {
	for _, issue := range report.Problems {
		if issue.Message == "" {
			continue
		}
		if issue.Waiting {
			r.Waits = append(r.Waits, issue.Message)
		} else {
			r.Faults = append(r.Faults, issue.Message)
		}
	}
}

// writes returns the writes that are the author's business: others keep track of what templater adds.
func (w *world) writes() []Write {
	var out []Write
	for _, each := range w.report.Writes {
		switch each.Verb {
		case plan.Create, plan.Update, plan.Delete:
			out = append(out, Write{each.Verb, each.Entry, each.ID.String()})
		case status.WriteStatus:
			out = append(out, Write{plan.Update, "", "the status of " + nameOf(w.state.Parent)})
		case status.RemoveFinalizer:
			out = append(out, Write{removal, "", "the finalizer of " + nameOf(w.state.Parent)})
		case plan.Mark, plan.Seal:
		}
	}
	return out
}

// judge returns what decides whether children are ready.
func (p *pass) judge() *readiness.Judge {
	judge := readiness.NewJudge(p.compiled.Program, p.input())
	for _, l := range p.observed {
		if p.state.isAssumed(l.Object) {
			judge.Assume(l.Object)
		}
	}
	return judge
}

// input is what the templates would see now.
func (p *pass) input() *render.Input {
	in := &render.Input{Parent: p.parent.Content(), Ready: readiness.IsReady, Budget: &p.budget, Observed: child.Contents(p.observed, &p.budget)}
	if len(p.compiled.Related) > 0 {
		in.Related, in.Logs = p.relatedTo, p.logs
	}
	return in
}

func nameOf(content map[string]any) string { return child.IDOf(content).String() }

// Named names an object in output: "ConfigMap default/a".
func Named(kind, namespace, name string) string {
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}
