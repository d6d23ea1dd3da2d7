package model

import (
	"cmp"
	"maps"
	"slices"
)

// Group is the API group of the parents.
const Group = "chaos.example.org"

// Namespaces are the namespaces of parents.
var Namespaces = []string{"chaos-a", "chaos-b"}

// The TemplateControllers, by what they render.
const (
	One    = "one"    // one ConfigMap
	Scoped = "scoped" // another ConfigMap for the same parents, in open namespaces
	Many   = "many"   // spec.count ConfigMaps and a Secret
	Report = "report" // a ConfigMap and a status
	Again  = "again"  // spec.count immutable ConfigMaps, with the strategy Recreate
	Engine = "engine" // a status that advances step by step, and a ConfigMap at the end
	Whole  = "whole"  // a ConfigMap, and a Part
	Reader = "reader" // a ConfigMap with content of related ones, and a status with the log of a Pod
	Chain  = "chain"  // ConfigMaps that are created and deleted in order
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

// ParentID identifies a parent.
type ParentID struct{ Kind, Namespace, Name string }

func (p ParentID) String() string { return p.Kind + " " + p.Namespace + "/" + p.Name }

// Parent is the desired state of a parent.
type Parent struct {
	Labelled bool // has the label that a selective TemplateController requires
	Text     string
	Count    int
	Bad      Bad
	Steps    Steps
}

// Steps map each phase of an Engine to the next: Start is the first, and a phase without an entry leads to End.
type Steps map[string]string

// The first and the last phase.
const (
	Start = "start"
	End   = "end"
)

// Bad is the part of a parent's rendered child that the API server rejects.
type Bad string

// The invalid parts.
const (
	Good     Bad = ""
	BadLabel Bad = "label" // an invalid value
	BadType  Bad = "type"  // a string instead of a boolean
	BadField Bad = "field" // an unknown field
)

// Controller is the desired state of a TemplateController.
type Controller struct {
	Value     string // in spec.values
	Edition   int    // of the template
	Selective bool   // selects only labeled parents
	Suspended bool
	Strategy  string // of its ConfigMaps
	Entry     string // name of the child template for its ConfigMaps
	Extra     Extra
	Swapped   bool // reversed order of its child templates
	Unpruned  bool // prunePolicy of its ConfigMaps
	Keep      bool // deletionPolicy Orphan for the objects that Report keeps
	Hasty     bool // no finalization where there could be some
	Blocks    bool // finalization of a parent has no timeout
	Rolls     bool // rolling update of multiple objects
	Purge     bool // whenDeleted DeleteChildren
	Broken    bool // has an invalid template
	Absent    bool // is deleted
	Torn      bool // was deleted in the round in which a policy changed, so that either may apply
}

// Extra is how an additional ConfigMap is rendered.
type Extra string

// The variants of the additional ConfigMap.
const (
	NoExtra  Extra = ""
	OwnExtra Extra = "entry of its own"
	SameSide Extra = "same entry"
	Double   Extra = "double" // by its own child template, with the name of another ConfigMap
)

// Purged reports whether its children were deleted with it.
func (c Controller) Purged() bool { return c.Absent && c.Purge && !c.Suspended }

// Frozen reports whether it is inactive at the moment, so that its children may be outdated.
func (c Controller) Frozen() bool {
	return c.Suspended || c.rejected() || c.Absent && !c.Purged()
}

// rejected reports whether its spec is not accepted.
func (c Controller) rejected() bool { return c.Broken || c.Extra == Double }

// World is the desired state.
type World struct {
	Parents     map[ParentID]Parent
	Controllers map[string]Controller
	Open        map[string]bool // namespaces that Scoped selects
	Sources     map[ChildID]Source
	Logs        map[ChildID]string // of Pods
	NoParts     bool               // the kind of Parts is not defined
	Secret      string             // occurs in parents and children only

	known map[string]map[string]bool // by shape and resource: see Knows
}

// NewWorld returns a world with all TemplateControllers and no parents.
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

// ChildID identifies a child; Resource is configmaps, secrets or parts.
type ChildID struct{ Resource, Namespace, Name string }

func (c ChildID) String() string { return c.Resource + " " + c.Namespace + "/" + c.Name }

// ParentIDs returns the parents, sorted.
func (w *World) ParentIDs() []ParentID {
	return slices.SortedFunc(maps.Keys(w.Parents), compareParents)
}

func compareParents(a, b ParentID) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
