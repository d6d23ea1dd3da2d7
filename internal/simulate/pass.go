package simulate

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/census"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/gate"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/teardown"
	"github.com/templater-dev/templater/internal/reconcile/view"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/spec"
)

// pass is one look at one parent.
type pass struct {
	*Simulator
	state    *State // after the writes so far
	parent   *object.Object
	clock    clock.PassiveClock
	factory  *child.Factory
	budget   budget.Pass
	problems problem.List
	related  map[string][]*object.Object
	plan     plan.Plan
	desired  child.Desired
	gates    *gate.Gates
	entries  []v1.Child  // whose objects the pass brings in line
	order    *spec.Order // of these
	result   Result
}

// Pass makes one pass, and returns the State after it. The error says why there is no such parent: see Matches.
func (s *Simulator) Pass(in State) (Result, State, error) {
	if why := s.Matches(in.Parent); why != "" {
		return Result{}, in, fmt.Errorf("%s is no parent: %s", nameOf(in.Parent), why)
	}
	if in.gone {
		return Result{Gone: true, Ready: gone}, in, nil
	}
	next := s.Placed(in.copy())
	if err := next.check(); err != nil {
		return Result{}, in, err
	}
	p := &pass{Simulator: s, state: &next, parent: read(next.Parent), clock: still(in.Now)}
	p.factory = s.factory(p.clock)
	p.budget.Begin(nil)
	if p.parent.Deleting() {
		p.teardown()
	} else {
		p.run()
	}
	p.tell()
	return p.result, next, nil
}

// tell notes the problems.
func (p *pass) tell() {
	for _, issue := range p.problems {
		if issue.Waiting {
			p.result.Waits = append(p.result.Waits, issue.Message)
		} else {
			p.result.Faults = append(p.result.Faults, issue.Message)
		}
	}
}

// still is a clock that stands still.
type still time.Time

// Now returns the time of the State.
func (c still) Now() time.Time { return time.Time(c) }

// Since returns the time from then on.
func (c still) Since(then time.Time) time.Duration { return time.Time(c).Sub(then) }

func nameOf(content map[string]any) string { return child.IDOf(content).String() }

func (p *pass) run() {
	p.entries, p.order = p.spec.Children, p.compiled.Order
	p.converge()
	p.report()
}

// converge brings the objects of the entries in line with what the templates yield.
func (p *pass) converge() {
	observed := p.observe()
	var free []*child.Wanted
	if why := p.choose(); why == nil {
		p.desired, free = p.factory.Desire(p.parent, p.entries, observed, func() *render.Input { return p.input(observed) })
	} else {
		p.desired = p.factory.Unrendered(p.parent, p.entries)
		p.desired.Faults = []child.Fault{{Problem: why, Always: true}}
	}
	observed = p.ours(observed)
	judge := p.judge(observed)
	p.gates = gate.Of(p.order, &p.desired, judge)
	p.problems = append(p.problems, p.gates.Told(p.desired.Faults)...)
	if p.parent.Deleting() { // nobody keeps the others
		observed = teardown.OfFinals(p.spec, observed)
	}
	p.plan = plan.Make(plan.Input{
		Entries: p.entries, Wanted: free, Live: observed, Maker: p.desired.Maker, Gates: p.gates,
		Complete: len(p.problems) == 0, Available: available(judge),
	})
	p.act()
}

// judge tells how children stand. Those that are to count as ready do so.
func (p *pass) judge(observed []*child.Live) *readiness.Judge {
	judge, actual := view.Judge(p.compiled.Program, p.input(observed)), view.Judge(p.compiled.Program, p.input(observed))
	for _, l := range observed {
		if p.state.isAssumed(l.ID()) {
			p.state.guessed = p.state.guessed || actual.Of(l.Entry, l.Object) != readiness.Ready
			judge.Assume(l.Object)
		}
	}
	return judge
}

// available is what a rollout asks. There is nothing whose status may lag.
func available(judge *readiness.Judge) func(*child.Live) bool {
	return func(l *child.Live) bool { return judge.Of(l.Entry, l.Object) == readiness.Ready }
}

// observe returns the objects that may be children, as what their labels say; those without belong to no entry yet.
func (p *pass) observe() []*child.Live {
	var out []*child.Live
	for _, content := range p.state.Objects {
		if p.maybeOurs(read(content)) {
			out = append(out, p.live(content))
		}
	}
	return child.Sort(out)
}

// live returns an object that may be a child. There are no keys here: the seal of an object that was not made in the simulation is taken for valid.
func (p *pass) live(content map[string]any) *child.Live {
	o, kind := read(content), p.kinds.find(child.GVKOf(content))
	if text := p.factory.Maker(p.parent).Vouch(kind.GroupKind(), o); text != "" {
		o = read(Patch(content, map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1.AnnotationSeal: text}}}))
	}
	o.Note(object.Covered | object.Sealed) // nobody takes fields here
	return p.factory.Live(kind, o)
}

// maybeOurs reports whether neither labels nor owner references say that an object belongs to somebody else.
func (p *pass) maybeOurs(o *object.Object) bool {
	if owner, has := o.Controller(); has && owner.UID != p.parent.UID() {
		return false
	}
	if by := o.Label(v1.LabelController); by != "" && by != p.name {
		return false
	}
	of := o.Label(v1.LabelParentUID)
	return of == "" || of == string(p.parent.UID())
}

// ours leaves out objects that are no children: nobody wants them, and no label says so. Those that were not applied in the simulation
// count as current where they have all that is wanted.
func (p *pass) ours(observed []*child.Live) []*child.Live {
	return slices.DeleteFunc(observed, func(l *child.Live) bool {
		if w := l.Wanted; w != nil && l.Object.Annotation(v1.AnnotationHash) == "" && covers(l.Object.Content(), w.Content) {
			current := map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1.AnnotationHash: w.Hash, v1.AnnotationSeal: nil}}}
			l.Object = p.live(Patch(l.Object.Content(), current)).Object
		}
		return l.Entry == ""
	})
}

// input is what the templates see.
func (p *pass) input(observed []*child.Live) *render.Input {
	in := &render.Input{Parent: p.parent.Content(), Ready: readiness.IsReady, Budget: &p.budget, Observed: view.Observed(observed, &p.budget)}
	if len(p.compiled.Related) > 0 {
		in.Related, in.Logs = p.relatedTo, p.logs
	}
	return in
}

// act carries out the plan.
func (p *pass) act() {
	for _, a := range p.plan.Apply {
		switch {
		case a.Verb == plan.Create:
			if conflict := p.inTheWay(a.Wanted); conflict != nil {
				p.problems = append(p.problems, conflict)
				continue
			}
			p.state.create(a.Wanted)
		case a.Verb == plan.Update && a.Wanted.Outdated(a.Live.Object):
			p.state.update(a.Wanted)
		case a.Verb == plan.Update || a.Verb == plan.Mark:
			p.state.mark(a.Live.ID(), a.Wanted.Mark(a.Live.Object))
			continue // which is not the author's, nor is drift
		default:
			continue
		}
		p.note(a.Verb, a.Wanted.Entry.Name, a.Wanted.ID().String())
	}
	for _, a := range p.plan.Remove {
		p.state.remove(a.Live.ID())
		p.note(plan.Delete, a.Live.Entry, a.Live.ID().String())
	}
}

// note notes a write.
func (p *pass) note(verb plan.Verb, entry, of string) {
	p.result.Writes = append(p.result.Writes, Write{verb, entry, of})
}

// inTheWay says of what is to be created that an object of somebody else has that name; nil says that there is none.
func (p *pass) inTheWay(w *child.Wanted) *problem.Problem {
	at := p.state.find(w.ID())
	if at < 0 {
		return nil
	}
	return p.factory.InTheWay(read(p.state.Objects[at]), w, p.parent)
}

// look returns the children after the writes, and what tells whether they are ready.
func (p *pass) look() ([]*child.Live, *readiness.Judge) {
	observed := p.observe()
	p.desired.Pair(observed)
	observed = p.ours(observed)
	return observed, p.judge(observed)
}

// census counts how the children fare that are wanted.
func (p *pass) census(observed []*child.Live, judge *readiness.Judge) census.Census {
	c := census.Of(p.desired.Wanted, observed, judge)
	if slices.ContainsFunc(p.entries, func(e v1.Child) bool { return spec.Rolls(&e) }) {
		c.Rollouts = census.Rollouts(p.desired.Wanted, available(judge), judge)
	}
	return c
}

// report tells how the parent stands after the writes.
func (p *pass) report() {
	observed, judge := p.look()
	gates := gate.Of(p.order, &p.desired, judge)
	p.problems = append(p.problems, gates.Waits(p.plan.Held)...)
	c := p.census(observed, judge)
	p.problems = append(p.problems, judge.Faults()...)
	status, issue := p.status(observed)
	if issue != nil {
		p.problems = append(p.problems, issue)
	}
	if issue := c.Problem(); issue != nil {
		p.problems = append(p.problems, issue)
	}
	p.result.Ready = c.Verdict(p.problems, &p.plan)
	p.writeStatus(status)
	p.result.Children = p.children(observed, gates, judge)
}
