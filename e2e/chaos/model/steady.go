package model

import "fmt"

// fate determines whether a change replaces a child.
type fate struct {
	shape   string
	parent  ParentID
	content string // "" if the object is updated in place
	round   string // of an Engine, which has no children before the end of that round
}

// fates returns the fates of all children that are desired or kept. With the strategy Recreate, other content means
// another object, and the content of a child is unknown while its TemplateController is inactive.
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
				if stays && !child.Shared { // a shared child may be taken over by the other parent
					out[child.ID] = fate{shape, id, c.replacedBy(child), child.Data["round"]}
				}
			}
		}
	}
	return out
}

// Protects reports whether pruning keeps the child.
func (c Controller) Protects(id ChildID) bool {
	return c.Unpruned && id.Resource == "configmaps" && id.Namespace != Far
}

// replacedBy is the content whose change replaces the object.
func (c Controller) replacedBy(child Child) string {
	passing := child.Shape == Engine && !c.Unpruned // it is deleted when the engine starts again
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

// frozen are the TemplateControllers whose children may be outdated, including their policies.
func (w *World) frozen() map[string]bool {
	out := map[string]bool{}
	for shape, c := range w.Controllers {
		out[shape] = c.Frozen()
	}
	return out
}

// follow forgets steady children that the action has, or may have, replaced.
func (d *drawer) follow(a Action, before Controller) {
	switch a.Verb {
	case DeleteChild, UnsealChild, UnlabelChild, RelabelChild:
		delete(d.steady, a.Child)
	case ReplaceParent, SpoilStatus, StripStatus: // may send an engine back
		for id, f := range d.steady {
			if f.parent == a.ID {
				delete(d.steady, id)
			}
		}
	case ReplaceController, RemoveController:
		if before.Purge && !before.Suspended {
			d.purge(a.Shape, before)
		}
	default:
	}
	now := d.world.fates(d.kind)
	for id, f := range d.steady {
		restarts := now[id].round != f.round || f.round != "" && d.idle[f.shape]
		unwanted := restarts || !d.world.Matches(f.shape, f.parent) // or was so temporarily
		if now[id].content != f.content || now[id].shape != f.shape || unwanted && d.renamed[f.shape] {
			delete(d.steady, id) // in the last case its child template and therefore its policy are unknown
		}
	}
}

// purge forgets the children that were deleted with the TemplateController.
func (d *drawer) purge(shape string, c Controller) {
	d.purged[shape] = d.purged[shape] || d.changed[shape] || !c.Keep
	for _, id := range d.world.ParentIDs() {
		if id.Kind != KindOf(shape) {
			continue
		}
		for _, child := range d.world.childrenOf(shape, id) { // not Children, which no longer returns them
			stays := c.Protects(child.ID) || child.Unique && c.Keep
			if d.changed[shape] || !stays {
				delete(d.steady, child.ID)
			}
		}
	}
}
