package simulate

import (
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// removal is the Verb that takes the finalizer from a parent.
const removal plan.Verb = "remove"

// Write is a write of templater.
type Write struct {
	Verb  plan.Verb
	Entry string // "" for what is of the parent, or where it is not known
	Of    string // what is written, such as ConfigMap default/a
}

// String says what is done.
func (w Write) String() string { return string(w.Verb) + " " + w.Of }

// Result is the result of a reconciliation.
type Result struct {
	// Children are the desired ones, in the order of the templates, and then those that no template yields.
	Children []Child
	// Ready is what the ready condition says, whether the parent can hold one or not.
	Ready status.Verdict
	// Faults and Waits are in the words of the ready condition: what is wrong, and what waits for what.
	Faults, Waits []string
	// Status is what templater writes of the parent's status.
	Status map[string]any
	// Gone is whether the parent was being deleted, and nothing of templater's holds it any more. Children are those that it leaves behind.
	Gone bool
	// Related are the related objects that the templates see, by entry; nil where that is not known.
	Related map[string][]*object.Object
	// Writes are what the reconciliation has written. While there are some, another reconciliation is due.
	Writes []Write

	changed bool // whether anything was written, also what templater adds
}

// Child is an object of an entry.
type Child struct {
	Entry string
	Line  int // of the template, where the object begins; 0 if no template yields it
	// Wanted is the object as its template yields it, in its namespace; nil if no template yields it any more.
	Wanted map[string]any
	// Live is the object after the reconciliation, without what templater adds; nil if it does not exist.
	Live map[string]any
	// Places are where the fields of Wanted are from, by path, such as .spec.containers[0].image; nil unless asked for.
	Places map[string]Place
	// State says in a word or two how it stands: ready, or why it is not.
	State string

	wanted *child.Wanted
}

// Body returns the JSON of a desired child as templater applies it, with one more field of metadata. Its seal is not valid.
func (c Child) Body(field, value string) []byte { return c.wanted.Body(field, value, nil) }
