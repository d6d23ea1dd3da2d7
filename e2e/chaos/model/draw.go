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
}

// Options say what may happen in a round.
type Options struct {
	Actions   int           // for each kind of parents, at most
	Faults    int           // in each of the two lanes, at most
	Longest   time.Duration // of a fault
	Replicas  int           // of the operator; 0 = one
	NoFaults  []Verb        // those that are left out
	KindEvery int           // about every how many rounds a kind is deleted; 0 = never
}

// Draw draws a round and applies it to the world. The same random source, options and
// world yield the same round.
func Draw(r *rand.Rand, w *World, o Options) Round {
	round := Round{Users: map[string][]Action{}}
	for _, kind := range Kinds {
		d := drawer{Rand: r, world: w, kind: kind, slow: max(quick, o.Longest/4)}
		for range 1 + r.IntN(o.Actions) {
			d.add(d.action())
		}
		if o.KindEvery > 0 && r.IntN(o.KindEvery*len(Kinds)) == 0 {
			d.add(Action{Verb: ReplaceKind, ID: ParentID{Kind: kind}})
			d.add(Action{Verb: SetParent, ID: d.parentID(), Parent: d.parent()})
		}
		round.Users[kind] = d.actions
	}
	faults := slices.DeleteFunc(slices.Clone(Faults), func(v Verb) bool { return slices.Contains(o.NoFaults, v) })
	for range 2 {
		var lane []Action
		for range r.IntN(o.Faults + 1) {
			lane = append(lane, o.fault(r, faults))
		}
		round.Faults = append(round.Faults, lane)
	}
	return round
}

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
	case KillAPIServer, KillEtcd:
	default:
		a.Replica = r.IntN(max(o.Replicas, 1) + 1)
	}
	return a
}

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
	d.world.Apply(a)
	d.actions = append(d.actions, a)
}

func (d *drawer) action() Action {
	switch n := d.IntN(100); {
	case n < 45:
		return d.ofParent()
	case n < 70:
		return d.ofChild()
	case n < 80:
		return d.ofStranger()
	case n < 84 && d.kind == "One":
		return d.ofNamespace()
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
	return Parent{Labelled: d.IntN(3) > 0, Text: texts[d.IntN(len(texts))], Count: d.IntN(5)}
}

// child returns a child of a parent of this kind, and whether it is immutable.
func (d *drawer) child() (ChildID, bool, bool) {
	children := slices.DeleteFunc(d.world.Children(), func(c Child) bool { return c.Parent.Kind != d.kind })
	if len(children) == 0 {
		return ChildID{}, false, false
	}
	c := children[d.IntN(len(children))]
	return c.ID, c.Immutable, true
}

func (d *drawer) ofChild() Action {
	id, immutable, ok := d.child()
	if !ok {
		return d.ofParent()
	}
	verbs := []Verb{DeleteChild, UnlabelChild, EditChild, StripChild, RelabelChild, AddToChild}
	if immutable { // its fields can't be changed, and what others do to its labels is no reason to replace it
		verbs = verbs[:2]
	}
	return Action{Verb: verbs[d.IntN(len(verbs))], Child: id}
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
	return Action{Verb: PutForeign, Child: child, Shape: shape, ID: id, Hard: d.IntN(2) == 0}
}

func (d *drawer) ofNamespace() Action {
	namespace := Namespaces[d.IntN(len(Namespaces))]
	if d.world.Open[namespace] {
		return Action{Verb: CloseNamespace, Namespace: namespace}
	}
	return Action{Verb: OpenNamespace, Namespace: namespace}
}

func (d *drawer) ofController() Action {
	shapes := slices.DeleteFunc(slices.Clone(Shapes), func(s string) bool { return KindOf(s) != d.kind })
	shape := shapes[d.IntN(len(shapes))]
	c := d.world.Controllers[shape]
	verb := SetController
	switch d.IntN(8) {
	case 0, 1:
		c.Value = fmt.Sprintf("v%d", d.IntN(100))
	case 2:
		c.Edition++
	case 3:
		c.Selective = !c.Selective
	case 4:
		c.Suspended = !c.Suspended
	case 5:
		if shape == One {
			c.Strategy = []string{"Apply", "Apply", "CreateOnly", "OnDelete"}[d.IntN(4)]
		}
		c.Suspended = false
	case 6:
		if shape == Many {
			c.Retain = !c.Retain
		}
		c.Suspended = false
	case 7:
		verb = ReplaceController
	}
	return Action{Verb: verb, Shape: shape, Controller: c}
}
