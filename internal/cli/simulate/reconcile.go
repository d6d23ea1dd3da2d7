package simulate

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Reconcile reconciles the parent once, and returns the State afterwards. The error is the reason why the object is not a parent: see Matches.
func (s *Simulator) Reconcile(in State) (Result, State, error) {
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
	if s.Validates && !Same(next.checked, next.Parent) {
		if err := s.checkParent(next.checked, next.Parent); err != nil {
			return Result{}, in, err
		}
	}
	if IsDeleting(next.Parent) {
		next.Parent = s.held(next.Parent)
	}
	next.Objects = s.vouched(next)
	w, err := s.converge(next)
	if err != nil {
		return Result{}, in, err
	}
	return w.result()
}

// mostOpened is how often a reconciliation is restarted because more objects turn out to be children, or more kinds must be read.
const mostOpened = 20

// converge reconciles the parent in a fakeCluster in which all kinds of children are read, and rendered objects are children.
func (s *Simulator) converge(in State) (*fakeCluster, error) {
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

// held returns a parent that is being deleted with the finalizer, which it already has if its deletion needs one.
func (s *Simulator) held(parent map[string]any) map[string]any {
	name := v1.ParentFinalizer(s.name)
	if !spec.NeedsFinalizer(s.spec) || read(parent).HasFinalizer(name) {
		return parent
	}
	finalizers, _ := Map(parent["metadata"])["finalizers"].([]any)
	return memserver.Patch(parent, map[string]any{"metadata": map[string]any{"finalizers": append(append([]any{}, finalizers...), name)}})
}

// finished is a completed reconciliation.
type finished struct {
	*fakeCluster
	parent   *object.Object // before the reconciliation
	budget   budget.Budget
	observed []*child.Live // the children after the reconciliation
	gone     bool
}

// result returns the result of the reconciliation.
func (w *fakeCluster) result() (Result, State, error) {
	started := w.state
	p := &finished{fakeCluster: w, parent: read(started.Parent)}
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
		next.gone, out.Ready = true, gone
		w.report.Templates, w.report.Desired = nil, child.Desired{}
		if w.report.TimedOut {
			out.Errors = append(out.Errors, reconcile.FinalizeTimedOut)
		}
	} else {
		out.tell(&w.report)
	}
	out.Children = p.children()
	return out, next, nil
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
			r.Errors = append(r.Errors, placeOf(report, issue)+issue.Message)
		}
	}
}

// placeOf returns the place of the template whose object the API server refused, as a prefix of a message, or "".
func placeOf(report *status.Report, issue *problem.Problem) string {
	if issue.Reason != v1.ReasonChildRejected {
		return ""
	}
	for _, o := range report.Desired.Wanted {
		if _, id, _ := strings.Cut(issue.Write, " "); id == o.ID().String() {
			return fmt.Sprintf("%s:%d: ", syntax.ChildName(o.Entry.Name), o.Line())
		}
	}
	return ""
}

// writes returns the writes that matter to authors, without those of templater's metadata.
func (w *fakeCluster) writes() []Write {
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

// judge returns the Judge for the readiness of children.
func (p *finished) judge() *readiness.Judge {
	judge := readiness.NewJudge(p.compiled.Program, p.input())
	for _, l := range p.observed {
		if p.state.isAssumed(l.Object) {
			judge.Assume(l.Object)
		}
	}
	return judge
}

// input returns the input of the templates now.
func (p *finished) input() *render.Input {
	in := &render.Input{Parent: p.parent.Content(), Ready: readiness.IsReady, Budget: &p.budget, Observed: child.Contents(p.observed, &p.budget)}
	if len(p.compiled.Related) > 0 {
		in.Related, in.Logs = p.relatedTo, p.logs
	}
	return in
}

func nameOf(content map[string]any) string { return child.IDOf(content).String() }

// Named returns the name of an object for output: "ConfigMap default/a".
func Named(kind, namespace, name string) string {
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}
