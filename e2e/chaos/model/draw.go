package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Round is what happens between two checks: the actions of a lane one after the
// other, all lanes at once. What belongs to one kind of parents is in one lane, so
// that the outcome does not depend on which lane is faster.
type Round struct {
	Users  map[string][]Action // by kind of parents
	Faults [][]Action
	// Steady are the children that nothing was to replace: one that was there before is the same object
	// afterwards.
	Steady map[ChildID]bool
	// Slow is a TemplateController for which nothing can be made until all else is right, as an admission webhook
	// does not answer; "" = none.
	Slow string
	// Purged are TemplateControllers that have gone, or may have, with what else outlives its parent.
	Purged map[string]bool
	// Blocks is whether parents may have waited without an end for what is to happen before they go, until somebody has let them go.
	Blocks bool
}

// Options say what may happen in a round.
type Options struct {
	Actions   int           // for each kind of parents, at most
	Engines   int           // parents that are moved on in each round, beside the others
	Faults    int           // in each of the two lanes, at most
	Longest   time.Duration // of a fault
	Replicas  int           // of the operator; 0 = one
	Without   []string      // faults, traits and scenes that are left out
	KindEvery int           // about every how many rounds a kind is deleted; 0 = never
}

// Draw draws a round and applies it to the world. The same random source, options and
// world yield the same round.
func Draw(r *rand.Rand, w *World, o Options) Round {
	round := Round{Users: map[string][]Action{}, Steady: map[ChildID]bool{}, Purged: map[string]bool{}}
	traits := slices.DeleteFunc(slices.Clone(Traits), func(t Trait) bool { return slices.Contains(o.Without, string(t)) })
	if o.Engines > 0 && r.IntN(slowEvery) == 0 && !slices.Contains(o.Without, SlowWebhook) {
		round.Slow = Engine
	}
	round.Blocks = w.Controllers[Chain].blocks(Chain)
	for _, kind := range Kinds {
		d := drawer{
			Rand: r, world: w, kind: kind, slow: max(quick, o.Longest/4), traits: traits, without: o.Without,
			steady: w.fates(kind), changed: w.frozen(), renamed: w.frozen(), purged: round.Purged,
		}
		d.draw(o, round.Slow)
		round.Users[kind] = d.actions
		for id := range d.steady {
			round.Steady[id] = true
		}
		round.Blocks = round.Blocks || slices.ContainsFunc(d.actions, func(a Action) bool { return a.Controller.blocks(a.Shape) })
	}
	w.Learn()
	faults := slices.DeleteFunc(slices.Clone(Faults), func(v Verb) bool { return slices.Contains(o.Without, string(v)) })
	for range 2 {
		var lane []Action
		for range r.IntN(o.Faults + 1) {
			if len(faults) > 0 {
				lane = append(lane, o.fault(r, faults))
			}
		}
		round.Faults = append(round.Faults, lane)
	}
	return round
}

// SlowWebhook is the name of the fault that Round.Slow is, and slowEvery about every how many rounds it
// happens.
const (
	SlowWebhook = "slow webhook"
	slowEvery   = 5
)

// draw draws the actions of a lane.
func (d *drawer) draw(o Options, slow string) {
	if d.kind == "Engine" && o.Engines > 0 {
		d.add(d.moveEngines(o.Engines))
	}
	if d.kind == "Reader" {
		for range 1 + d.IntN(3) {
			d.add(d.ofPod())
		}
	}
	if slow != "" && KindOf(slow) == d.kind {
		return // strangers would have to wait, too
	}
	if d.IntN(4) > 0 { // before anything else, as the rest may hide what an edit does
		d.add(d.ofController())
	}
	d.scenes()
	for range 1 + d.IntN(o.Actions) {
		d.add(d.action())
	}
	if o.KindEvery > 0 && d.IntN(o.KindEvery*len(Kinds)) == 0 {
		d.add(Action{Verb: ReplaceKind, ID: ParentID{Kind: d.kind}})
		d.add(Action{Verb: SetParent, ID: d.parentID(), Parent: d.parent()})
	}
	if d.IntN(unserveEvery*len(Kinds)) == 0 && !slices.Contains(o.Without, string(UnserveKind)) {
		d.add(Action{Verb: UnserveKind, ID: ParentID{Kind: d.kind}, For: duration(d.Rand, 4*o.Longest), Hard: d.IntN(2) == 0})
	}
}

// unserveEvery is about every how many rounds a kind is not served for a while.
const unserveEvery = 2

// Features are all that can be left out of a round.
func Features() []string {
	names := []string{SlowWebhook, string(UnserveKind), string(WipeController)}
	for _, v := range Faults {
		names = append(names, string(v))
	}
	for _, t := range Traits {
		names = append(names, string(t))
	}
	for _, v := range Scenes {
		names = append(names, string(v))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// resources are those whose watches fail.
var resources = []string{"configmaps", "configmaps", "secrets", "pods", "parts", "namespaces", "ones", "manys", "reports", "agains", "engines", "wholes", "readers", "chains", "wides"} //nolint:misspell // agains are several of the kind Again

// fault draws one of these faults. Processes break one at a time, connections of one replica or
// of all.
func (o Options) fault(r *rand.Rand, of []Verb) Action {
	a := Action{
		Verb: of[r.IntN(len(of))], After: duration(r, time.Second),
		For: 100*time.Millisecond + duration(r, o.Longest),
	}
	switch a.Verb {
	case KillOperator, StopOperator, FreezeOperator:
		a.Replica = 1 + r.IntN(max(o.Replicas, 1))
	case KillAPIServer, KillEtcd, CompactEtcd, FailLogs:
	case WithdrawRight:
		a.Right = Rights[r.IntN(len(Rights))]
	case JumpClock, ShiftDates:
		a.Offset = offsets[r.IntN(len(offsets))]
		a.Replica = r.IntN(max(o.Replicas, 1) + 1)
	case Watches403, Watches500, Watches410, HoldWatches:
		a.Resource = resources[r.IntN(len(resources))]
		a.Replica = r.IntN(max(o.Replicas, 1) + 1)
	default:
		a.Replica = r.IntN(max(o.Replicas, 1) + 1)
	}
	return a
}

// offsets are those of clocks.
var offsets = []time.Duration{10 * time.Minute, -10 * time.Minute, 24 * time.Hour, -24 * time.Hour}

func duration(r *rand.Rand, longest time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(longest))).Round(time.Millisecond)
}

// drawer draws the actions for one kind of parents.
type drawer struct {
	*rand.Rand
	world   *World
	kind    string
	slow    time.Duration // the longest pause between actions
	actions []Action
	traits  []Trait
	without []string
	steady  map[ChildID]fate // children that nothing has replaced yet
	changed map[string]bool  // TemplateControllers of which children may have the policies of before
	renamed map[string]bool  // those of which children may have the name of an entry that is gone
	purged  map[string]bool  // Round.Purged
}

// quick is the longest pause between two actions that belong to one burst.
const quick = 400 * time.Millisecond

// add adds an action to a burst, or begins another one, so that something happens at all times while faults last.
func (d *drawer) add(a Action) {
	pause := quick
	if d.IntN(2) == 0 {
		pause = d.slow
	}
	a.After = duration(d.Rand, pause)
	before := d.world.Controllers[a.Shape]
	if after := a.Controller; a.Verb == SetController && (after.Unpruned != before.Unpruned || after.Keep != before.Keep) {
		d.changed[a.Shape] = true
	}
	if a.Shape != "" && a.Controller.Entry != before.Entry {
		d.renamed[a.Shape] = true
	}
	d.world.Apply(a)
	d.follow(a, before)
	d.actions = append(d.actions, a)
}

func (d *drawer) action() Action {
	switch n := d.IntN(100); {
	case n < 42:
		return d.ofParent()
	case n < 64:
		return d.ofChild()
	case n < 74:
		return d.ofStranger()
	case n < 84 && d.kind == "One":
		return d.ofNamespace()
	case n < 84 && (d.kind == "Report" || d.kind == "Engine"):
		return d.ofStatus()
	case n < 84 && d.kind == "Whole":
		return d.ofParts()
	case n < 84 && d.kind == "Reader":
		return d.ofSource()
	case n < 84 && (d.kind == "Chain" || d.kind == "Wide"):
		return d.ofDeparture()
	}
	return d.ofController()
}

func (d *drawer) ofParent() Action {
	id := d.parentID()
	_, there := d.world.Parents[id]
	switch n := d.IntN(10); {
	case there && n < 2:
		return Action{Verb: DeleteParent, ID: id, Hard: d.IntN(4) == 0}
	case there && n < 4:
		return Action{Verb: ReplaceParent, ID: id, Parent: d.parent(), Hard: d.IntN(4) == 0}
	}
	return Action{Verb: SetParent, ID: id, Parent: d.parent()}
}

func (d *drawer) parentID() ParentID {
	return ParentID{d.kind, Namespaces[d.IntN(len(Namespaces))], fmt.Sprintf("p%d", d.IntN(5))}
}

// texts are such that YAML, or a template, would stumble over them.
var texts = []string{"plain", "", "120", "yes", "a: b\nc: [", "{{ .spec }}", "- x\n  y", "null", "#", "'\""}

func (d *drawer) parent() Parent {
	p := Parent{Labelled: d.IntN(3) > 0, Text: texts[d.IntN(len(texts))], Count: d.IntN(5)}
	if d.IntN(2) == 0 {
		p.Text += d.world.Secret
	}
	if d.kind == "Report" && d.IntN(6) == 0 {
		p.Bad, p.Text = []Bad{BadLabel, BadType, BadField}[d.IntN(3)], d.world.Secret+" !"
	}
	if d.kind == "Engine" {
		p.Steps = d.steps()
	}
	return p
}

// steps draws a way of up to 8 steps from Start to End, and other phases that lead to it somewhere.
func (d *drawer) steps() Steps {
	steps, next := Steps{}, End
	for _, i := range d.Perm(7)[:d.IntN(8)] {
		phase := fmt.Sprintf("phase%d", i)
		steps[phase] = next
		if d.IntN(3) > 0 { // else it is off the way
			next = phase
		}
	}
	steps[Start] = next
	return steps
}

func (d *drawer) moveEngines(n int) Action {
	a := Action{Verb: MoveEngines, Parents: map[ParentID]Parent{}}
	for i := range n {
		a.Parents[ParentID{d.kind, Namespaces[i%2], fmt.Sprintf("engine%d", i)}] = d.parent()
	}
	return a
}

// ofStatus has a stranger write into the status of a parent.
func (d *drawer) ofStatus() Action {
	return Action{Verb: []Verb{SpoilStatus, StripStatus, NoteStatus}[d.IntN(3)], ID: d.parentID()}
}

func (d *drawer) ofParts() Action {
	if d.world.NoParts {
		return Action{Verb: DefineParts}
	}
	return Action{Verb: RemoveParts}
}

// child returns a child of a parent of this kind, if there is one.
func (d *drawer) child() (Child, bool) {
	children := slices.DeleteFunc(d.world.Children(), func(c Child) bool { return c.Parent.Kind != d.kind || c.Unique })
	if len(children) == 0 {
		return Child{}, false
	}
	return children[d.IntN(len(children))], true
}

func (d *drawer) ofChild() Action {
	child, ok := d.child()
	if !ok {
		return d.ofParent()
	}
	verbs := []Verb{DeleteChild, HoldChild, UnlabelChild, StripMarks, ForgeMarks, UnsealChild, EditChild, StripChild, AddToChild, RelabelChild}
	switch {
	case child.Immutable: // its fields can't be changed, and what others do to its labels is no reason to replace it
		verbs = verbs[:6]
	case child.Far: // without its label, or its seal, it is nobody's, once its parent is gone
		verbs = []Verb{DeleteChild, HoldChild, StripMarks, ForgeMarks, EditChild, StripChild, AddToChild}
	case child.Shape == Chain: // without its seal it stands in no order
		verbs = slices.DeleteFunc(verbs, func(v Verb) bool { return v == UnsealChild })
	}
	return Action{Verb: verbs[d.IntN(len(verbs))], Child: child.ID, For: duration(d.Rand, 4*d.slow)}
}

// ofStranger puts an object where a child might be, or takes it away. Recreate would
// have to wait for it with everything, so its children are left alone.
func (d *drawer) ofStranger() Action {
	shape := map[string]string{"One": One, "Many": Many, "Report": Report}[d.kind]
	if shape == "" {
		return d.ofChild()
	}
	id := d.parentID()
	child := ChildID{"configmaps", id.Namespace, shape + "-" + id.Name}
	if shape == Many {
		child.Name += fmt.Sprintf("-%d", d.IntN(5))
	}
	if d.IntN(2) == 0 {
		return Action{Verb: RemoveForeign, Child: child}
	}
	return Action{Verb: PutForeign, Child: child, Shape: shape, ID: id, Guise: Guises[d.IntN(len(Guises))]}
}

func (d *drawer) ofNamespace() Action {
	namespace := Namespaces[d.IntN(len(Namespaces))]
	if d.world.Open[namespace] {
		return Action{Verb: CloseNamespace, Namespace: namespace}
	}
	return Action{Verb: OpenNamespace, Namespace: namespace}
}
