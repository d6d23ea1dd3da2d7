package simulate

import (
	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// removal is the Verb for removing the finalizer from a parent.
const removal plan.Verb = "remove"

// Write is a write of templater.
type Write struct {
	Verb  plan.Verb
	Entry string // "" for the parent, or if unknown
	Of    string // the object, such as ConfigMap default/a
}

// String describes the write.
func (w Write) String() string { return string(w.Verb) + " " + w.Of }

// Result is the result of a reconciliation.
type Result struct {
	// Children are the desired children, in the order of the templates, then those that no template renders.
	Children []Child
	// Ready is the ready condition, whether or not the parent has conditions.
	Ready status.Verdict
	// Errors and Waits are the errors and waits in the message of the ready condition.
	Errors, Waits []string
	// Status is the part of the parent's status that templater writes.
	Status map[string]any
	// Gone is whether the parent was being deleted, and has no finalizer of templater any more. Children are the remaining objects.
	Gone bool
	// Related are the related objects of the templates, by entry; nil = unknown.
	Related map[string][]*object.Object
	// Writes are the writes of the reconciliation. If there are any, another reconciliation is due.
	Writes []Write

	changed bool // whether anything was written, including templater's metadata
}

// Child is an object of a child template.
type Child struct {
	Entry string
	Line  int // first line of the object in the template; 0 if no template renders it
	// Wanted is the rendered object, with its namespace; nil if no template renders it any more.
	Wanted map[string]any
	// Live is the object after the reconciliation, without templater's metadata; nil if it does not exist.
	Live map[string]any
	// Places are the template lines of the fields of Wanted, by path, such as .spec.containers[0].image; nil unless requested.
	Places map[string]Place
	// State is "ready", or a short reason why it is not.
	State string

	wanted *child.Wanted
}

// RecreatesImmutable reports whether the object is recreated if the API server rejects its update because a field is immutable.
func (c Child) RecreatesImmutable() bool {
	return c.wanted.Entry.UpdateStrategy.OnImmutable == v1.OnImmutableRecreate
}

// Body returns the JSON of a desired child as templater applies it to the live object, which may be nil, with one more field of metadata. Its
// seal is not valid.
func (c Child) Body(field, value string, live *object.Object) []byte {
	return c.wanted.Body(field, value, live)
}
