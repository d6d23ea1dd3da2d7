package model

import (
	"cmp"
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
	Engine = "engine" // a status that goes its way step by step, and a ConfigMap at the end
	Whole  = "whole"  // a ConfigMap, and a Part
	Reader = "reader" // a ConfigMap with what it has read of related ones, and a status with the log of a Pod
	Chain  = "chain"  // ConfigMaps that come one after the other, and go so
	Wide   = "wide"   // a ConfigMap, and one in another namespace
)

// Shapes are the names of all TemplateControllers.
var Shapes = []string{One, Scoped, Many, Report, Again, Engine, Whole, Reader, Chain, Wide}

// Kinds are the kinds of parents.
var Kinds = []string{"One", "Many", "Report", "Again", "Engine", "Whole", "Reader", "Chain", "Wide"}

// PartKind is a kind of children.
const PartKind = "Part"

// KindOf is the kind that a TemplateController watches.
func KindOf(shape string) string {
	return map[string]string{
		One: "One", Scoped: "One", Many: "Many", Report: "Report", Again: "Again", Engine: "Engine", Whole: "Whole",
		Reader: "Reader", Chain: "Chain", Wide: "Wide",
	}[shape]
}

// ParentID names a parent.
type ParentID struct{ Kind, Namespace, Name string }

func (p ParentID) String() string { return p.Kind + " " + p.Namespace + "/" + p.Name }

// Parent is a parent as its user wants it.
type Parent struct {
	Labelled bool // carries the label that a selective TemplateController asks for
	Text     string
	Count    int
	Bad      Bad
	Steps    Steps
}

// Steps say which phase of an Engine follows which: Start comes first, and what leads nowhere leads to End.
type Steps map[string]string

// The first and the last phase.
const (
	Start = "start"
	End   = "end"
)

// Bad says what the server will not take of what a template yields for a parent.
type Bad string

// What may be bad of a parent.
const (
	Good     Bad = ""
	BadLabel Bad = "label" // a value that is none
	BadType  Bad = "type"  // text where there must be a boolean
	BadField Bad = "field" // one that there is not
)

// Controller is a TemplateController as its user wants it.
type Controller struct {
	Value     string // in spec.values
	Edition   int    // of the template
	Selective bool   // selects labelled parents only
	Suspended bool
	Strategy  string // of its ConfigMaps
	Entry     string // what the entry of its ConfigMaps is called
	Extra     Extra
	Swapped   bool // the order of its entries
	Unpruned  bool // prunePolicy of its ConfigMaps
	Keep      bool // deletionPolicy Orphan for what Report keeps
	Hasty     bool // nothing happens before a parent goes, where something could
	Blocks    bool // a parent waits without an end for what is to happen before it goes
	Rolls     bool // changes one object after the other, where there are several
	Purge     bool // whenDeleted DeleteChildren
	Broken    bool // a template is none
	Absent    bool // it is deleted
	Torn      bool // it was deleted in the round in which a policy was changed, so that either may hold
}

// Extra says where one more ConfigMap comes from.
type Extra string

// The places of the extra ConfigMap.
const (
	NoExtra  Extra = ""
	OwnExtra Extra = "entry of its own"
	SameSide Extra = "same entry"
	Double   Extra = "double" // an entry of its own, and the name of another ConfigMap
)

// Purged reports whether its children have gone with it.
func (c Controller) Purged() bool { return c.Absent && c.Purge && !c.Suspended }

// Frozen reports whether nothing is done for it at the moment, so that its children are as they once were.
func (c Controller) Frozen() bool {
	return c.Suspended || c.rejected() || c.Absent && !c.Purged()
}

// rejected reports whether its spec is not accepted.
func (c Controller) rejected() bool { return c.Broken || c.Extra == Double }

// World is what the users want.
type World struct {
	Parents     map[ParentID]Parent
	Controllers map[string]Controller
	Open        map[string]bool // namespaces that Scoped selects
	Sources     map[ChildID]Source
	Logs        map[ChildID]string // of Pods
	NoParts     bool               // the kind of Parts is not defined
	Secret      string             // is in parents and children, and nowhere else

	known map[string]map[string]bool // by shape and resource: see Knows
}

// NewWorld has all TemplateControllers and no parent.
func NewWorld(secret string) *World {
	w := &World{Parents: map[ParentID]Parent{}, Controllers: map[string]Controller{}, Open: map[string]bool{Namespaces[0]: true}, Sources: map[ChildID]Source{}, Logs: map[ChildID]string{}, Secret: secret, known: map[string]map[string]bool{}}
	for _, shape := range Shapes {
		w.Controllers[shape] = Controller{Value: "first", Strategy: "Apply", Entry: "config"}
	}
	again := w.Controllers[Again]
	again.Strategy = "Recreate"
	w.Controllers[Again] = again
	return w
}

// ChildID names a child; Resource is configmaps, secrets or parts.
type ChildID struct{ Resource, Namespace, Name string }

func (c ChildID) String() string { return c.Resource + " " + c.Namespace + "/" + c.Name }

// ParentIDs returns the parents in order.
func (w *World) ParentIDs() []ParentID {
	return slices.SortedFunc(maps.Keys(w.Parents), compareParents)
}

func compareParents(a, b ParentID) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
