package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Round is what happens between two checks: the actions of a lane run sequentially, all lanes concurrently. Everything
// that concerns one kind of parents is in one lane, so that the outcome does not depend on the relative speed of lanes.
type Round struct {
	Users  map[string][]Action // by kind of parents
	Faults [][]Action
	// Steady are the children that nothing should replace: if one existed before, it is the same object afterwards.
	Steady map[ChildID]bool
	// Slow is a TemplateController whose writes are blocked by an admission webhook until everything else is right; ""
	// = none.
	Slow string
	// Purged are TemplateControllers that were, or may have been, deleted together with children that usually outlive
	// their parents.
	Purged map[string]bool
	// Blocks is whether finalization of parents may have been blocked until someone released them.
	Blocks bool
}

// Options configure a round.
type Options struct {
	Actions   int           // for each kind of parents, at most
	Engines   int           // parents that are changed in each round, in addition to the others
	Faults    int           // in each of the two lanes, at most
	Longest   time.Duration // of a fault
	Replicas  int           // of the operator; 0 = one
	Without   []string      // names of excluded faults and traits
	KindEvery int           // a kind is deleted about every that many rounds; 0 = never
}

// Draw generates a round and applies it to the world. The same random source, options and world result in the same
// round.
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
			steady: w.fates(kind), idle: w.frozen(), changed: w.frozen(), renamed: w.frozen(), purged: round.Purged,
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

// SlowWebhook is the name of the fault of Round.Slow, which happens in about one of slowEvery rounds.
const (
	SlowWebhook = "slow webhook"
	slowEvery   = 5
)

// draw generates the actions of a lane.
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
		return // other clients would have to wait, too
	}
	if d.IntN(4) > 0 { // first, because other actions may hide the effect of an edit
		d.add(d.ofController())
	}
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

// unserveEvery is the average number of rounds between those in which a kind is temporarily not served.
const unserveEvery = 2

// Features are the names of everything that can be excluded from a round.
func Features() []string {
	names := []string{SlowWebhook, string(UnserveKind), string(WipeController)}
	for _, v := range Faults {
		names = append(names, string(v))
	}
	for _, t := range Traits {
		names = append(names, string(t))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// resources are the candidates for watch faults.
var resources = []string{"configmaps", "configmaps", "secrets", "pods", "parts", "namespaces", "ones", "manys", "reports", "agains", "engines", "wholes", "readers", "chains", "wides"} //nolint:misspell // agains are several of the kind Again

// fault generates one of these faults. Process faults affect one replica, connection faults one replica or all.
func (o Options) fault(r *rand.Rand, of []Verb) Action {
	a := Action{
		Verb: of[r.IntN(len(of))], After: duration(r, time.Second),
		For: 100*time.Millisecond + duration(r, o.Longest),
	}
	switch a.Verb {
	case KillOperator, StopOperator, FreezeOperator:
		a.Replica = 1 + r.IntN(max(o.Replicas, 1))
	case KillAPIServer, KillEtcd, CompactEtcd, FailLogs:
	case RevokePermission:
		a.Permission = Permissions[r.IntN(len(Permissions))]
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

// offsets are the clock offsets.
var offsets = []time.Duration{10 * time.Minute, -10 * time.Minute, 24 * time.Hour, -24 * time.Hour}

func duration(r *rand.Rand, longest time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(longest))).Round(time.Millisecond)
}

// drawer generates the actions for one kind of parents.
type drawer struct {
	*rand.Rand
	world   *World
	kind    string
	slow    time.Duration // the longest pause between actions
	actions []Action
	traits  []Trait
	without []string
	steady  map[ChildID]fate // children that no action has replaced so far
	idle    map[string]bool  // TemplateControllers that were inactive at the beginning of the round: their engines may be at another round
	changed map[string]bool  // TemplateControllers whose children may have earlier policies
	renamed map[string]bool  // TemplateControllers whose children may have the name of a removed child template
	purged  map[string]bool  // Round.Purged
	marked  bool             // the annotations of a child in another namespace were changed, and may not be repaired yet
}

// quick is the longest pause between two actions of one burst.
const quick = 400 * time.Millisecond

// add adds an action to a burst, or begins another burst, so that actions are spread over the duration of faults.
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
		return d.ofForeign()
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

// texts are special in YAML or in templates.
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

// steps generates a path of up to 8 steps from Start to End, and other phases that lead to it.
func (d *drawer) steps() Steps {
	steps, next := Steps{}, End
	for _, i := range d.Perm(7)[:d.IntN(8)] {
		phase := fmt.Sprintf("phase%d", i)
		steps[phase] = next
		if d.IntN(3) > 0 { // otherwise it is not on the path
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

// ofStatus makes another client write to the status of a parent.
func (d *drawer) ofStatus() Action {
	return Action{Verb: []Verb{SpoilStatus, StripStatus, NoteStatus}[d.IntN(3)], ID: d.parentID()}
}

func (d *drawer) ofParts() Action {
	if d.world.NoParts {
		return Action{Verb: DefineParts}
	}
	return Action{Verb: RemoveParts}
}

// child returns a random child of a parent of this kind, if there is one.
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
	case child.Immutable: // its fields cannot be changed, and a changed label is no reason to replace it
		verbs = verbs[:6]
	case child.Far: // without its label, seal or annotations, it belongs to no parent once its parent is deleted
		verbs = []Verb{DeleteChild, HoldChild, EditChild, StripChild, AddToChild}
		if _, steady := d.steady[child.ID]; steady && !d.world.Controllers[Wide].Frozen() { // otherwise it may belong to an earlier parent, or is not repaired
			verbs = append(verbs, StripMarks, ForgeMarks)
		}
	case child.Shape == Chain: // without its seal, its order is undefined
		verbs = slices.DeleteFunc(verbs, func(v Verb) bool { return v == UnsealChild })
	}
	verb := verbs[d.IntN(len(verbs))]
	d.marked = d.marked || child.Far && (verb == StripMarks || verb == ForgeMarks)
	return Action{Verb: verb, Child: child.ID, For: duration(d.Rand, 4*d.slow)}
}

// ofForeign creates an object with the name of a possible child, or deletes it. The strategy Recreate would be blocked
// by it completely, so its children are excluded.
func (d *drawer) ofForeign() Action {
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
