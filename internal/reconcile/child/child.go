// Package child makes the children of a parent from what its templates yield, and decides whose an object is. Pure.
package child

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Wanted is a child as it should be.
type Wanted struct {
	Entry   *v1.Child // of spec.children
	Kind    kind.Kind
	Name    types.NamespacedName
	Content map[string]any // as the template yields it; see Marks for what templater adds
	Hash    string         // of Content
	Marks   Marks
	Live    *Live // nil while it is not there: see Pair

	bytes int // of Content as JSON
	// disputed is whether another document describes the same object.
	disputed bool
	line     int32 // of the template where the document begins
}

// Live is a child as it is.
type Live struct {
	Entry    string // the one of spec.children that it belongs to: see Pair
	MadeFrom string // the entry that it was made from, as its seal proves; "" where that proves nothing
	Kind     kind.Kind
	Object   *object.Object
	Wanted   *Wanted // nil if no template yields it any more

	rule   *Ownership     // that opens its seal; nil where no seal is opened
	parent *object.Object // whose child it is known to be, whatever its labels say; nil where they alone say it
}

// Live returns an object of ours under the entry that its seal proves. Where the seal proves nothing, its label has the entry that shows
// the object, and no entry decides about it: anybody may write the label.
func (r *Ownership) Live(kind kind.Kind, o *object.Object) *Live { return r.LiveOf(kind, o, nil) }

// Live is Ownership.Live for a child of the parent.
func (m *Maker) Live(kind kind.Kind, o *object.Object) *Live { return m.LiveOf(kind, o, m.Parent) }

// LiveOf is Live for a child of that parent: its seal counts although the object has lost its owner reference or the labels of the parent.
func (r *Ownership) LiveOf(kind kind.Kind, o, parent *object.Object) *Live {
	l := &Live{Entry: o.Label(v1.LabelChild), Kind: kind, Object: o, rule: r, parent: parent}
	if o.Settled(r.Seals.Round()) {
		l.MadeFrom = l.Entry // its seal says the same
	} else if l.MadeFrom = l.provenEntry(); l.MadeFrom != "" {
		l.Entry = l.MadeFrom
	}
	return l
}

// NewLive returns an object of ours under the child template that its label names. It is for callers that have no keys to open its seal
// and delete nothing: see Ownership.Live.
func NewLive(kind kind.Kind, o *object.Object) *Live {
	entry := o.Label(v1.LabelChild)
	return &Live{Entry: entry, MadeFrom: entry, Kind: kind, Object: o}
}

// ID identifies a child of a parent, whatever its version.
type ID struct {
	Kind schema.GroupKind
	Name types.NamespacedName
}

// ID returns which child it is.
func (w *Wanted) ID() ID { return ID{w.Kind.GroupKind(), w.Name} }

// ID returns which child it is.
func (l *Live) ID() ID { return ID{l.Kind.GroupKind(), l.Object.Key()} }

// String names the child in messages: "ConfigMap default/a".
func (i ID) String() string {
	name := problem.PublicNameIn(i.Kind.Group, i.Name.Name)
	if i.Name.Namespace == "" {
		return i.Kind.Kind + " " + name
	}
	return i.Kind.Kind + " " + problem.PublicName(i.Name.Namespace) + "/" + name
}

// Applied takes note of what an apply of the child has left.
func (w *Wanted) Applied(after *object.Object) {
	after.Note(object.Ours | object.OwnWrite)
	if w.repairs() {
		after.SetOwned(w.owned(after).hash)
	}
}

// Line is where the document begins in the template of the entry.
func (w *Wanted) Line() int { return int(w.line) }

// Contents returns the objects that templates see as .observed and .children, as [render.Input] has it.
func Contents(all []*Live, b *budget.Pass) func(entry string) ([]map[string]any, error) {
	return func(entry string) ([]map[string]any, error) {
		var out []map[string]any
		for _, l := range all {
			if l.Entry != entry {
				continue
			}
			if err := b.Spend(l.Object.ContentBytes()); err != nil {
				return nil, err
			}
			out = append(out, l.Object.Content())
		}
		return out, nil
	}
}

// DecodeAll decodes objects at the expense of a budget.
func DecodeAll(objects []*object.Object, b *budget.Pass) ([]map[string]any, error) {
	out := make([]map[string]any, 0, len(objects))
	for _, o := range objects {
		if err := b.Spend(o.ContentBytes()); err != nil {
			return nil, err
		}
		out = append(out, o.Content())
	}
	return out, nil
}

// Sort sorts by kind, namespace and name, p-2 before p-10, and returns its argument.
func Sort(children []*Live) []*Live {
	slices.SortFunc(children, func(a, b *Live) int {
		x, y := a.ID(), b.ID()
		return cmp.Or(cmp.Compare(x.Kind.Group, y.Kind.Group), cmp.Compare(x.Kind.Kind, y.Kind.Kind), object.CompareKeys(x.Name, y.Name))
	})
	return children
}

// Going returns a message that children are not deleted yet. It names only a few, so that the text does not change with each deletion.
func Going(left []*Live) string {
	const most = 3
	if len(left) > most {
		return fmt.Sprintf("being deleted: waiting for its children to be deleted: more than %d are left", most)
	}
	return "being deleted: waiting for its children to be deleted: " + problem.JoinFunc(Sort(left), func(l *Live) string { return l.ID().String() }) + "; if one is stuck, check its metadata.finalizers"
}

// Fault is a problem with what the template of an entry yields.
type Fault struct {
	*problem.Problem
	Entry string // of spec.children; "" for all of them
	Other string // another entry that has the same fault, or ""
	// Always is whether it is reported even while the child template waits for others, and might have no fault once they are ready.
	Always bool
}

// of reports whether the entry has the fault.
func (f Fault) of(entry string) bool { return entry == f.Entry || entry == f.Other || f.Entry == "" }

// ofThePass reports whether rendering has failed for all templates of the reconciliation.
func ofThePass(err error) bool {
	failure, ok := errors.AsType[*syntax.Error](err)
	return !ok || failure.Reason == syntax.Budget || failure.Reason == syntax.Interrupted
}

// Sound reports whether all objects of a child template are known, and no other document describes one of them.
func (d *Desired) Sound(entry string) bool {
	return !slices.Contains(d.Failed, entry) && !slices.ContainsFunc(d.Faults, func(f Fault) bool { return f.of(entry) })
}
