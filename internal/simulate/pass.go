package simulate

import (
	"cmp"
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
	"github.com/templater-dev/templater/internal/reconcile/view"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/spec"
)

// Write is a write of templater.
type Write struct {
	Verb  plan.Verb
	Entry string // of spec.children; "" for the parent's status, or where it is not known
	Of    string // what is written, such as ConfigMap default/a
}

// String says what is done.
func (w Write) String() string { return string(w.Verb) + " " + w.Of }

// Result is what a pass has come to.
type Result struct {
	// Children are what the templates want, in their order, and then what is left though nobody wants it.
	Children []Child
	// Ready is what the ready condition says, whether the parent can hold one or not.
	Ready census.Verdict
	// Faults and Waits are in the words of the ready condition: what is wrong, and what waits for what.
	Faults, Waits []string
	// Status is what templater writes of the parent's status.
	Status map[string]any
	// Related are the related objects that the templates see, by entry; nil where that is not known.
	Related map[string][]*object.Object
	// Writes are what the pass has done. While there are some, another pass is due.
	Writes []Write
}

// Child is an object of an entry.
type Child struct {
	Entry string
	Line  int // of the template, where the object begins; 0 where nobody wants it
	// Wanted is the object as its author wants it, in its namespace; nil where nobody wants it any more.
	Wanted map[string]any
	// Live is the object after the pass, without what templater adds; nil while it is not there.
	Live map[string]any
	// Places are where the fields of Wanted are from, by path, such as .spec.containers[0].image; nil unless asked for.
	Places map[string]Place
	// State says in a word or two how it stands: ready, or why it is not.
	State string

	wanted *child.Wanted
}

// Body returns the text of a wanted child as templater applies it, with one more field of metadata. It has a seal that does not hold.
func (c Child) Body(field, value string) []byte { return c.wanted.Body(field, value) }

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
	result   Result
}

// Pass makes one pass, and returns the State after it. The error says why there is no such parent: see Watches.
func (s *Simulator) Pass(in State) (Result, State, error) {
	if why := s.Watches(in.Parent); why != "" {
		return Result{}, in, fmt.Errorf("%s is no parent: %s", nameOf(in.Parent), why)
	}
	next := s.Placed(in.copy())
	parent, err := object.From(next.Parent)
	if err != nil {
		return Result{}, in, fmt.Errorf("%s: %w", nameOf(in.Parent), err)
	}
	p := &pass{Simulator: s, state: &next, parent: parent, clock: still(in.Now)}
	p.factory = s.factory(p.clock)
	p.budget.Begin(nil)
	if err := p.run(); err != nil {
		return Result{}, in, err
	}
	return p.result, next, nil
}

// still is a clock that stands still.
type still time.Time

// Now returns the time of the State.
func (c still) Now() time.Time { return time.Time(c) }

// Since returns the time from then on.
func (c still) Since(then time.Time) time.Duration { return time.Time(c).Sub(then) }

func nameOf(content map[string]any) string { return child.IDOf(content).String() }

func (p *pass) run() error {
	observed, err := p.observe()
	if err != nil {
		return err
	}
	var free []*child.Wanted
	if why := p.choose(); why == nil {
		p.desired, free = p.factory.Desire(p.parent, p.spec.Children, observed, func() *render.Input { return p.input(observed) })
	} else {
		p.desired = p.factory.Unrendered(p.parent, p.spec.Children)
		p.desired.Faults = []child.Fault{{Problem: why, Always: true}}
	}
	observed = p.ours(observed)
	judge := p.judge(observed)
	p.gates = gate.Of(p.compiled.Order, &p.desired, judge)
	p.problems = append(p.problems, p.gates.Told(p.desired.Faults)...)
	p.plan = plan.Make(plan.Input{
		Entries: p.spec.Children, Wanted: free, Live: observed, Maker: p.desired.Maker, Gates: p.gates,
		Complete: len(p.problems) == 0, Available: available(judge),
	})
	if err := p.act(); err != nil {
		return err
	}
	return p.report()
}

// judge tells how children stand. Those that are to count as ready do so.
func (p *pass) judge(observed []*child.Live) *readiness.Judge {
	judge := view.Judge(p.compiled.Program, p.input(observed))
	for _, l := range observed {
		if p.state.isAssumed(l.ID()) {
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
func (p *pass) observe() ([]*child.Live, error) {
	var out []*child.Live
	for _, content := range p.state.Objects {
		o, err := object.From(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", nameOf(content), err)
		}
		if !p.maybeOurs(o) {
			continue
		}
		o.Note(object.Covered) // nobody takes fields here
		kind := p.kinds.find(child.GVKOf(content))
		out = append(out, child.NewLive(kind, o))
	}
	return child.Sort(out), nil
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
			current := merged(l.Object.Content(), map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1.AnnotationHash: w.Hash}}})
			if o, err := object.From(current); err == nil {
				o.Note(object.Covered)
				l.Object = o
			}
		}
		return l.Wanted == nil && l.Entry == ""
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
func (p *pass) act() error {
	for _, a := range p.plan.Apply {
		switch {
		case a.Verb == plan.Create:
			conflict, err := p.inTheWay(a.Wanted)
			if err != nil {
				return err
			}
			if conflict != nil {
				p.problems = append(p.problems, conflict)
				continue
			}
			if err := p.state.create(a.Wanted); err != nil {
				return err
			}
		case a.Verb == plan.Update && a.Wanted.Outdated(a.Live.Object):
			if err := p.state.update(a.Wanted); err != nil {
				return err
			}
		default:
			continue // marks, seals and drift are not the author's
		}
		p.result.Writes = append(p.result.Writes, Write{a.Verb, a.Wanted.Entry.Name, a.Wanted.ID().String()})
	}
	for _, a := range p.plan.Remove {
		p.state.remove(a.Live.ID())
		p.result.Writes = append(p.result.Writes, Write{plan.Delete, a.Live.Entry, a.Live.ID().String()})
	}
	return nil
}

// inTheWay says of what is to be created that an object of somebody else has that name.
func (p *pass) inTheWay(w *child.Wanted) (*problem.Problem, error) {
	at := p.state.find(w.ID())
	if at < 0 {
		return nil, nil //nolint:nilnil // nothing is in the way
	}
	there, err := object.From(p.state.Objects[at])
	if err != nil {
		return nil, err
	}
	return p.factory.InTheWay(there, w, p.parent), nil
}

// report looks again at what there is after the writes.
func (p *pass) report() error {
	observed, err := p.observe()
	if err != nil {
		return err
	}
	p.desired.Pair(observed)
	observed = p.ours(observed)
	judge := p.judge(observed)
	gates := gate.Of(p.compiled.Order, &p.desired, judge)
	p.problems = append(p.problems, gates.Waits(p.plan.Held)...)
	c := census.Of(p.desired.Wanted, observed, judge)
	if slices.ContainsFunc(p.spec.Children, func(e v1.Child) bool { return spec.Rolls(&e) }) {
		c.Rollouts = census.Rollouts(p.desired.Wanted, available(judge), judge)
	}
	p.problems = append(p.problems, judge.Faults()...)
	status := p.status(observed)
	if issue := c.Problem(); issue != nil {
		p.problems = append(p.problems, issue)
	}
	p.result.Ready = c.Verdict(p.problems, &p.plan)
	p.finish(status)
	p.result.Children = p.children(observed, gates, judge)
	for _, issue := range p.problems {
		if issue.Waiting {
			p.result.Waits = append(p.result.Waits, issue.Message)
		} else {
			p.result.Faults = append(p.result.Faults, issue.Message)
		}
	}
	return nil
}

// children says how each child stands.
func (p *pass) children(observed []*child.Live, gates *gate.Gates, judge *readiness.Judge) []Child {
	var out []Child
	places := p.explain(observed)
	for _, w := range p.desired.Wanted {
		c := Child{Entry: w.Entry.Name, Line: w.Line(), Wanted: w.Content, Places: places[w.ID()], State: "ready", wanted: w}
		switch {
		case w.Live == nil && p.state.find(w.ID()) >= 0:
			c.State = "an object of somebody else has its name"
		case w.Live == nil && gates.Closed(w.Entry.Name):
			c.State = "waits for other children"
		case w.Live == nil:
			c.State = "not there yet"
		default:
			c.Live = Public(w.Live.Object.Content())
			if judge.Of(w.Entry.Name, w.Live.Object) != readiness.Ready {
				c.State = cmp.Or(judge.Why(w.Entry.Name, w.Live.Object), "not ready")
			}
		}
		out = append(out, c)
	}
	for _, l := range observed {
		if l.Wanted != nil {
			continue
		}
		c := Child{Entry: l.Entry, Live: Public(l.Object.Content()), State: "not wanted any more"}
		if slices.Contains(p.desired.Failed, l.Entry) {
			c.State = "stays as it is, for its template cannot be rendered"
		}
		out = append(out, c)
	}
	return out
}
