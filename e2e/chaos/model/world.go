package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Group is the API group of the parents.
const Group = "chaos.example.org"

// Namespaces are those that parents live in.
var Namespaces = []string{"chaos-a", "chaos-b"}

// The TemplateControllers, by what they make.
const (
	One    = "one"    // one ConfigMap
	Scoped = "scoped" // another ConfigMap for the same parents, in namespaces that are open
	Many   = "many"   // spec.count ConfigMaps and a Secret
	Report = "report" // a ConfigMap and a status
	Again  = "again"  // spec.count immutable ConfigMaps, by the strategy Recreate
)

// Shapes are the names of all TemplateControllers.
var Shapes = []string{One, Scoped, Many, Report, Again}

// Kinds are the kinds of parents.
var Kinds = []string{"One", "Many", "Report", "Again"}

// KindOf is the kind that a TemplateController watches.
func KindOf(shape string) string {
	return map[string]string{One: "One", Scoped: "One", Many: "Many", Report: "Report", Again: "Again"}[shape]
}

// ParentID names a parent.
type ParentID struct{ Kind, Namespace, Name string }

func (p ParentID) String() string { return p.Kind + " " + p.Namespace + "/" + p.Name }

// Parent is a parent as its user wants it.
type Parent struct {
	Labelled bool // carries the label that a selective TemplateController asks for
	Text     string
	Count    int
}

// Controller is a TemplateController as its user wants it.
type Controller struct {
	Value     string // in spec.values
	Edition   int    // of the template
	Selective bool   // selects labelled parents only
	Suspended bool
	Strategy  string // of its ConfigMaps
	Retain    bool   // prunePolicy of its ConfigMaps
}

// World is what the users want.
type World struct {
	Parents     map[ParentID]Parent
	Controllers map[string]Controller
	Open        map[string]bool // namespaces that Scoped selects
}

// NewWorld has all TemplateControllers and no parent.
func NewWorld() *World {
	w := &World{Parents: map[ParentID]Parent{}, Controllers: map[string]Controller{}, Open: map[string]bool{Namespaces[0]: true}}
	for _, shape := range Shapes {
		w.Controllers[shape] = Controller{Value: "first", Strategy: "Apply"}
	}
	again := w.Controllers[Again]
	again.Strategy = "Recreate"
	w.Controllers[Again] = again
	return w
}

// ChildID names a child; Resource is configmaps or secrets.
type ChildID struct{ Resource, Namespace, Name string }

func (c ChildID) String() string { return c.Resource + " " + c.Namespace + "/" + c.Name }

// Child is a child as it should be.
type Child struct {
	ID        ChildID
	Shape     string // its TemplateController
	Entry     string // in spec.children
	Parent    ParentID
	Data      map[string]string
	Immutable bool
}

// Matches reports whether the TemplateController works for the parent.
func (w *World) Matches(shape string, id ParentID) bool {
	parent, there := w.Parents[id]
	c := w.Controllers[shape]
	return there && KindOf(shape) == id.Kind && (!c.Selective || parent.Labelled) && (shape != Scoped || w.Open[id.Namespace])
}

// Children returns all children that should be there, in order.
func (w *World) Children() []Child {
	var out []Child
	for _, id := range w.ParentIDs() {
		for _, shape := range Shapes {
			if w.Matches(shape, id) {
				out = append(out, w.childrenOf(shape, id)...)
			}
		}
	}
	return out
}

// childrenOf is what the templates of Spec say, once more.
func (w *World) childrenOf(shape string, id ParentID) []Child {
	parent, c := w.Parents[id], w.Controllers[shape]
	child := func(resource, entry, suffix string, data map[string]string) Child {
		return Child{
			ID:    ChildID{resource, id.Namespace, shape + "-" + id.Name + suffix},
			Shape: shape, Entry: entry, Parent: id, Data: data, Immutable: shape == Again,
		}
	}
	data := func(more ...string) map[string]string {
		out := map[string]string{"text": parent.Text, "value": c.Value, "edition": fmt.Sprint(c.Edition)}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	if shape != Many && shape != Again {
		return []Child{child("configmaps", "config", "", data())}
	}
	var out []Child
	for i := range parent.Count {
		out = append(out, child("configmaps", "config", fmt.Sprintf("-%d", i), data("index", fmt.Sprint(i))))
	}
	if shape == Many {
		out = append(out, child("secrets", "secret", "", map[string]string{"token": parent.Text + c.Value}))
	}
	return out
}

// ParentIDs returns the parents in order.
func (w *World) ParentIDs() []ParentID {
	return slices.SortedFunc(maps.Keys(w.Parents), func(a, b ParentID) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}
