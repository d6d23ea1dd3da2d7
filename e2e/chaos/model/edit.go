package model

import (
	"fmt"
	"slices"
)

// Trait is a kind of edit of a TemplateController.
type Trait string

// The traits.
const (
	Value    Trait = "value"
	Edition  Trait = "edition"
	Select   Trait = "select"
	Suspend  Trait = "suspend"
	Strategy Trait = "strategy"
	Rename   Trait = "rename"
	AddEntry Trait = "add entry"
	Swap     Trait = "swap"
	Prune    Trait = "prune policy"
	Keep     Trait = "keep"
	Purge    Trait = "purge"
	Finalize Trait = "finalize"
	Block    Trait = "block"
	Roll     Trait = "roll"
	Break    Trait = "break"
	Remove   Trait = "remove"
	Replace  Trait = "replace"
)

// Traits are the traits to choose from; likely ones occur more than once.
var Traits = []Trait{
	Value, Value, Edition, Select, Suspend, Strategy, Rename, AddEntry, AddEntry, Swap, Prune, Keep, Purge, Finalize, Block, Roll, Break, Remove, Replace,
}

// ofController edits one TemplateController with up to three traits at once. A deleted one is recreated.
func (d *drawer) ofController() Action {
	shapes := slices.DeleteFunc(slices.Clone(Shapes), func(s string) bool { return KindOf(s) != d.kind })
	shape := shapes[d.IntN(len(shapes))]
	a := Action{Verb: SetController, Shape: shape, Controller: d.world.Controllers[shape]}
	returns := a.Controller.Absent
	if !returns && d.IntN(8) == 0 && !slices.Contains(d.without, string(WipeController)) {
		a.Verb = WipeController
		return a
	}
	a.Controller.Absent, a.Controller.Torn = false, false
	for range min(1+d.IntN(3), len(d.traits)) {
		trait := d.traits[d.IntN(len(d.traits))]
		if d.spares(shape, trait) {
			continue
		}
		switch trait {
		case Remove:
			if !returns && a.Verb == SetController {
				a.Verb = RemoveController
			}
		case Replace:
			if !returns {
				a.Verb = ReplaceController
			}
		default:
			d.edit(&a.Controller, shape, trait)
		}
	}
	if before := d.world.Controllers[shape]; a.Controller.rejected() && a.Controller.Finalizing(shape) {
		a.Controller.Selective = before.Selective // a parent that a rejected spec no longer selects waits for an accepted one
	}
	if a.Verb == RemoveController { // unchanged
		a.Controller = d.world.Controllers[shape]
		a.Controller.Absent, a.Controller.Torn = true, d.changed[shape]
	}
	return a
}

// spares reports whether a TemplateController is excluded from a trait. While one is suspended or rejected, deleted
// parents that wait for it remain; and Chain deletes children only when their parent is deleted, in an order that can
// be checked. The annotations of a child in another namespace must be repaired before its TemplateController becomes
// inactive.
func (d *drawer) spares(shape string, trait Trait) bool {
	switch trait {
	case Suspend:
		return shape == Chain || shape == Wide
	case Remove, Replace, AddEntry:
		return d.marked
	case Break:
		return shape == Chain || d.marked
	case Select, Purge:
		return shape == Chain
	case Block:
		return shape != Chain
	default:
		return false
	}
}

// edit changes the TemplateController by one trait. Some other traits end one that would last too long.
func (d *drawer) edit(c *Controller, shape string, trait Trait) {
	switch trait {
	case Value:
		c.Value = fmt.Sprintf("v%d", d.IntN(100))
	case Edition:
		c.Edition++
	case Select:
		c.Selective = !c.Selective
	case Suspend:
		c.Suspended = !c.Suspended
	case Strategy:
		if shape == One {
			c.Strategy = []string{"Apply", "Apply", "CreateOnly", "OnDelete"}[d.IntN(4)]
		}
		c.Suspended = false
	case Rename:
		c.Entry = []string{"config", "settings", "maps"}[d.IntN(3)]
	case AddEntry:
		c.Extra = []Extra{NoExtra, OwnExtra, OwnExtra, SameSide, SameSide, Double}[d.IntN(6)]
		c.Broken = false
	case Swap:
		c.Swapped = !c.Swapped
	case Prune:
		c.Unpruned = !c.Unpruned
		c.Suspended = false
	case Keep:
		c.Keep = !c.Keep
	case Purge:
		c.Purge = !c.Purge
	case Finalize:
		c.Hasty = !c.Hasty && d.IntN(3) == 0
	case Block:
		c.Blocks = !c.Blocks
	case Roll:
		c.Rolls = !c.Rolls
	case Break:
		c.Broken = !c.Broken
	default:
	}
}
