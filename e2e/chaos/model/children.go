package model

import "fmt"

// Child is a desired child.
type Child struct {
	ID        ChildID
	Shape     string // its TemplateController
	Entry     string // in spec.children
	Parent    ParentID
	Data      map[string]string
	Immutable bool
	Unique    bool // the first characters of its parent's UID are appended to its name
	Orphan    bool // it outlives its parent, and has no owner
	Far       bool // it is in another namespace than its parent, and has no owner
	Shared    bool // other parents may render an object of that name, too
}

// UniqueLength is the number of characters of its parent's UID in the name of a unique child.
const UniqueLength = 8

// KeptMark is part of the name of children that may outlive their parent.
const KeptMark = "-kept-"

// Matches reports whether the TemplateController selects the parent.
func (w *World) Matches(shape string, id ParentID) bool {
	parent, there := w.Parents[id]
	c := w.Controllers[shape]
	return there && KindOf(shape) == id.Kind && (!c.Selective || parent.Labelled) && (shape != Scoped || w.Open[id.Namespace])
}

// Children returns all desired children, sorted.
func (w *World) Children() []Child {
	var out []Child
	for _, id := range w.ParentIDs() {
		for _, shape := range Shapes {
			if w.Matches(shape, id) && !w.Controllers[shape].Purged() {
				out = append(out, w.childrenOf(shape, id)...)
			}
		}
	}
	return out
}

// Doubled reports whether a parent has two children with the same name because its TemplateController renders
// duplicates.
func (w *World) Doubled(shape string, id ParentID) bool {
	return shape != Many && shape != Again || w.Parents[id].Count > 0
}

// childrenOf reimplements the templates.
func (w *World) childrenOf(shape string, id ParentID) []Child {
	parent, c := w.Parents[id], w.Controllers[shape]
	child := func(resource, entry, suffix string, data map[string]string) Child {
		return Child{
			ID:    ChildID{resource, id.Namespace, shape + "-" + id.Name + suffix},
			Shape: shape, Entry: entry, Parent: id, Data: data, Immutable: shape == Again,
		}
	}
	data := func(index string) map[string]string {
		out := map[string]string{"text": parent.Text, "value": c.Value, "edition": fmt.Sprint(c.Edition)}
		if index != "" {
			out["index"] = index
		}
		return out
	}
	var out []Child
	switch shape {
	case Many, Again:
		for i := range parent.Count {
			out = append(out, child("configmaps", c.Entry, fmt.Sprintf("-%d", i), data(fmt.Sprint(i))))
		}
	default:
		first := child("configmaps", c.Entry, "", data(""))
		if shape == Engine {
			first.Data["round"] = fmt.Sprint(parent.Count)
		}
		out = append(out, first)
	}
	switch c.Extra {
	case OwnExtra:
		out = append(out, child("configmaps", "extra", "-extra", data("")))
	case SameSide:
		out = append(out, child("configmaps", c.Entry, "-extra", data("")))
	default:
	}
	switch shape {
	case Many:
		out = append(out, child("secrets", "secret", "", map[string]string{"token": parent.Text + c.Value}))
	case Report:
		kept := child("configmaps", "kept", KeptMark, map[string]string{"text": parent.Text})
		kept.Unique, kept.Orphan = true, c.Keep
		out = append(out, kept)
	case Whole:
		if !w.NoParts {
			out = append(out, child("parts", "part", "", map[string]string{"text": parent.Text, "edition": fmt.Sprint(c.Edition)}))
		}
	case Reader:
		for i := range out {
			w.reads(id, out[i].Data)
		}
	case Chain:
		out = append(out,
			child("configmaps", "web", WebMark, map[string]string{"text": parent.Text, "edition": fmt.Sprint(c.Edition)}),
			child("configmaps", "last", LastMark, map[string]string{"text": parent.Text}))
	case Wide:
		out = append(out, w.farChild(id))
	default:
	}
	return out
}
