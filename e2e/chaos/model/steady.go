package model

import "fmt"

// fate is what makes a child another object when it changes.
type fate struct {
	shape   string
	parent  ParentID
	content string // "" where the object is changed in place
	round   string // of an Engine, which has no children on its way to that round's end
}

// fates tells those of all children that are to be there, or to stay there. Under the strategy Recreate another
// content is another object, and it is not known what a child holds while its TemplateController does nothing.
func (w *World) fates(kind string) map[ChildID]fate {
	out := map[ChildID]fate{}
	for _, id := range w.ParentIDs() {
		for _, shape := range Shapes {
			c := w.Controllers[shape]
			if id.Kind != kind || KindOf(shape) != kind || !c.Unpruned && (!w.Matches(shape, id) || c.Purged()) {
				continue
			}
			for _, child := range w.childrenOf(shape, id) {
				stays := c.Protects(child.ID) || w.Matches(shape, id) && !c.Purged()
				if stays && !child.Shared { // which may become the other parent's
					out[child.ID] = fate{shape, id, c.replacedBy(child), child.Data["round"]}
				}
			}
		}
	}
	return out
}

// Protects reports whether pruning spares the child.
func (c Controller) Protects(id ChildID) bool {
	return c.Unpruned && id.Resource == "configmaps" && id.Namespace != Far
}

// replacedBy is what takes another object when it changes.
func (c Controller) replacedBy(child Child) string {
	passing := child.Shape == Engine && !c.Unpruned // it goes when the engine starts again
	if c.Strategy != "Recreate" && !passing {
		return ""
	}
	content := fmt.Sprint(child.Data)
	if passing {
		content = child.Data["round"]
	}
	if c.Frozen() {
		content += ", frozen"
	}
	return content
}

// frozen are the TemplateControllers whose children are as they once were: not even their policies are those of now.
func (w *World) frozen() map[string]bool {
	out := map[string]bool{}
	for shape, c := range w.Controllers {
		out[shape] = c.Frozen()
	}
	return out
}

// follow forgets those steady children that the action has replaced, or may have.
func (d *drawer) follow(a Action, before Controller) {
	switch a.Verb {
	case DeleteChild, UnsealChild, UnlabelChild, RelabelChild:
		delete(d.steady, a.Child)
	case ReplaceParent, SpoilStatus, StripStatus: // which may send an engine back
		for id, f := range d.steady {
			if f.parent == a.ID {
				delete(d.steady, id)
			}
		}
	case Deprive: // without the right to create it, it is deleted first
		if a.Right.Verb == "create" {
			delete(d.steady, a.Part())
		}
	case ReplaceController, RemoveController:
		if before.Purge && !before.Suspended {
			d.purge(a.Shape, before)
		}
	default:
	}
	now := d.world.fates(d.kind)
	for id, f := range d.steady {
		unwanted := now[id].round != f.round || !d.world.Matches(f.shape, f.parent) // or was so for a while
		if now[id].content != f.content || now[id].shape != f.shape || unwanted && d.renamed[f.shape] {
			delete(d.steady, id) // in the last case its entry is unknown, and so is which policy holds
		}
	}
}

// purge forgets those that went with the TemplateController.
func (d *drawer) purge(shape string, c Controller) {
	d.purged[shape] = d.purged[shape] || d.changed[shape] || !c.Keep
	for _, id := range d.world.ParentIDs() {
		if id.Kind != KindOf(shape) {
			continue
		}
		for _, child := range d.world.childrenOf(shape, id) { // not Children: they have gone there by now
			stays := c.Protects(child.ID) || child.Unique && c.Keep
			if d.changed[shape] || !stays {
				delete(d.steady, child.ID)
			}
		}
	}
}
