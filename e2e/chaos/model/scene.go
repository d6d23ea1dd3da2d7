package model

import (
	"slices"
	"time"
)

// Scenes are the verbs of scenes.
var Scenes = []Verb{OrphanEdited, BlockParent, SuspendParent, Deprive}

// scenes adds those of a kind, now and then: actions that are judged themselves while they last, and not only by what they leave. They come
// before others, so that most children are as they were.
func (d *drawer) scenes() {
	switch d.kind {
	case "Chain":
		d.now(OrphanEdited, 3, d.orphanEdited)
		d.now(BlockParent, 4, d.block)
		d.now(SuspendParent, 4, d.suspend)
	case "Wide":
		d.now(OrphanEdited, 3, d.orphanEdited)
		d.now(Deprive, 4, func() { d.deprive(Wide, Right{"configmaps", "delete"}) })
	case "Reader":
		d.now(Deprive, 4, func() { d.deprive(Reader, Right{"pods", "watch"}) })
	case "Whole":
		if !d.world.NoParts {
			d.now(Deprive, 3, func() { d.deprive(Whole, Right{Plural(PartKind), []string{"create", "patch"}[d.IntN(2)]}) })
		}
	default:
	}
}

// now plays a scene about every so many rounds, unless it is left out.
func (d *drawer) now(verb Verb, every int, play func()) {
	if d.IntN(every) == 0 && !slices.Contains(d.without, string(verb)) {
		play()
	}
}

// works has a TemplateController work, so that what it does can be told.
func (d *drawer) works(shape string, change func(*Controller)) {
	before := d.world.Controllers[shape]
	after := before
	after.Absent, after.Torn, after.Broken, after.Suspended = false, false, false, false
	if after.Extra == Double {
		after.Extra = NoExtra
	}
	change(&after)
	if after != before {
		d.add(Action{Verb: SetController, Shape: shape, Controller: after})
	}
}

// block deletes a parent that waits without an end for what is to happen before it goes: for an object that never becomes ready, or for
// the end of a child that somebody holds.
func (d *drawer) block() {
	d.works(Chain, func(c *Controller) { c.Blocks, c.Hasty = true, false })
	p := d.parent()
	p.Labelled, p.Count = false, 4 // see backup
	held := d.IntN(2) == 0
	if held {
		p.Labelled = true
	}
	d.add(Action{Verb: BlockParent, ID: d.parentID(), Parent: p, Held: held, Hard: d.IntN(2) == 0})
}

// suspend deletes a parent while nothing is done for its TemplateController, for longer than the timeout of what is to happen before.
func (d *drawer) suspend() {
	d.works(Chain, func(c *Controller) { c.Blocks, c.Hasty = false, false })
	p := d.parent()
	p.Labelled = true // see backup
	d.add(Action{Verb: SuspendParent, ID: d.parentID(), Parent: p, Shape: Chain, Controller: d.world.Controllers[Chain]})
}

// moment is the longest time between an edit of OrphanEdited and the deletion.
const moment = 50 * time.Millisecond

// orphanEdited deletes parents without their children, and edits them at the same moment. Without a finalizer the operator does not
// hear of that in time.
func (d *drawer) orphanEdited() {
	shape := map[string]string{"Chain": Chain, "Wide": Wide}[d.kind]
	if c := d.world.Controllers[shape]; c.Frozen() || !c.Finalizing(shape) {
		return
	}
	there := d.there()
	d.Shuffle(len(there), func(i, j int) { there[i], there[j] = there[j], there[i] })
	a := Action{Verb: OrphanEdited, For: duration(d.Rand, moment), Shape: shape, Parents: map[ParentID]Parent{}, Stay: map[ChildID]bool{}}
	for _, id := range there[:min(3, len(there))] {
		a.Parents[id] = d.otherText(d.world.Parents[id])
	}
	for child, f := range d.steady {
		if _, goes := a.Parents[f.parent]; goes {
			a.Stay[child] = true
		}
	}
	if len(a.Stay) > 0 {
		d.add(a)
	}
}

// deprive takes a right away from the operator, and gives it back when a parent has said that it is missing: the right to write a child
// of a parent that is edited, or to delete one of a parent that is deleted.
func (d *drawer) deprive(shape string, right Right) {
	d.works(shape, func(*Controller) {})
	id, p := d.parentID(), d.parent()
	p.Labelled, p.Count = true, 1
	d.add(Action{Verb: Deprive, Right: right, ID: id, Parent: p, Edited: d.otherText(p)})
}

// otherText is the parent with another text.
func (d *drawer) otherText(p Parent) Parent {
	for {
		if text := texts[d.IntN(len(texts))]; text != p.Text {
			p.Text = text
			return p
		}
	}
}

// there are the parents of the kind.
func (d *drawer) there() []ParentID {
	return slices.DeleteFunc(d.world.ParentIDs(), func(id ParentID) bool { return id.Kind != d.kind })
}
