// Package child builds the desired children of a parent from its rendered templates, and determines who owns an existing object. It has no side
// effects.
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

// Wanted is a desired child.
type Wanted struct {
	Entry   *v1.Child // the child template
	Kind    kind.Kind
	Name    types.NamespacedName
	Content map[string]any // as rendered, without createOnlyFields; see Marks for what templater adds
	Hash    string         // of Content
	// Initial is Content with createOnlyFields, to create the object.
	Initial map[string]any
	Marks   Marks
	Live    *Live // nil if it does not exist: see Pair

	bytes      int        // of Content as JSON
	createOnly [][]string // paths of createOnlyFields, as lists of keys
	// disputed is true if another document defines the same object.
	disputed bool
	line     int32 // where the document begins in the template
}

// Live is an existing child.
type Live struct {
	Entry    string // the child template that it belongs to: see Pair
	MadeFrom string // the child template that it was created from, according to its seal; "" if the seal proves nothing
	Kind     kind.Kind
	Object   *object.Object
	Wanted   *Wanted // nil if no template renders it anymore

	rule   *Ownership     // to open the seal with; nil if seals are not opened
	parent *object.Object // known parent of the child, regardless of its labels; nil if only the labels identify it
}

// Live returns an owned object with the child template from its seal. If the seal proves nothing, the child template from its label determines
// only where the object is shown, and no child template decides about it, because anyone can change labels.
func (r *Ownership) Live(kind kind.Kind, o *object.Object) *Live { return r.LiveOf(kind, o, nil) }

// Live is Ownership.Live for a child of the parent.
func (m *Maker) Live(kind kind.Kind, o *object.Object) *Live { return m.LiveOf(kind, o, m.Parent) }

// LiveOf is Live for a child of that parent. Its seal counts even if the object has lost its owner reference or the parent's labels.
func (r *Ownership) LiveOf(kind kind.Kind, o, parent *object.Object) *Live {
	l := &Live{Entry: o.Label(v1.LabelChild), Kind: kind, Object: o, rule: r, parent: parent}
	if o.Settled(r.Seals.Round()) {
		l.MadeFrom = l.Entry // the seal has the same child template
	} else if l.MadeFrom = l.provenEntry(); l.MadeFrom != "" {
		l.Entry = l.MadeFrom
	}
	return l
}

// NewLive returns an owned object with the child template from its label. It is for callers that have no keys to open seals and delete nothing:
// see Ownership.Live.
func NewLive(kind kind.Kind, o *object.Object) *Live {
	entry := o.Label(v1.LabelChild)
	return &Live{Entry: entry, MadeFrom: entry, Kind: kind, Object: o}
}

// ID identifies a child of a parent, independent of its API version.
type ID struct {
	Kind schema.GroupKind
	Name types.NamespacedName
}

// ID returns the ID of the child.
func (w *Wanted) ID() ID { return ID{w.Kind.GroupKind(), w.Name} }

// ID returns the ID of the child.
func (l *Live) ID() ID { return ID{l.Kind.GroupKind(), l.Object.Key()} }

// String names the child in messages: "ConfigMap default/a".
func (i ID) String() string {
	name := problem.PublicNameIn(i.Kind.Group, i.Name.Name)
	if i.Name.Namespace == "" {
		return i.Kind.Kind + " " + name
	}
	return i.Kind.Kind + " " + problem.PublicName(i.Name.Namespace) + "/" + name
}

// Applied records the result of an apply of the child.
func (w *Wanted) Applied(after *object.Object) {
	after.Note(object.Ours | object.OwnWrite)
	if w.repairs() {
		after.SetOwned(w.owned(after).hash)
	}
}

// Line returns the line of the template where the document begins.
func (w *Wanted) Line() int { return int(w.line) }

// Contents returns a function that returns the objects of a child template, for .observed and .children in templates: see [render.Input]. It
// charges the budget.
func Contents(all []*Live, b *budget.Budget) func(entry string) ([]map[string]any, error) {
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

// DecodeAll decodes objects and charges the budget.
func DecodeAll(objects []*object.Object, b *budget.Budget) ([]map[string]any, error) {
	out := make([]map[string]any, 0, len(objects))
	for _, o := range objects {
		if err := b.Spend(o.ContentBytes()); err != nil {
			return nil, err
		}
		out = append(out, o.Content())
	}
	return out, nil
}

// Sort sorts by kind, namespace and name in place (p-2 before p-10), and returns its argument.
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

// Fault is a problem with the output of a child template.
type Fault struct {
	*problem.Problem
	Entry string // name of the child template; "" for all
	Other string // another child template with the same fault, or ""
	// Always is true if the fault is reported even while the child template waits for others. Otherwise it is not, because it might disappear
	// once they are ready.
	Always bool
}

// of reports whether the child template has the fault.
func (f Fault) of(entry string) bool { return entry == f.Entry || entry == f.Other || f.Entry == "" }

// ofAllTemplates reports whether a rendering error applies to all templates of the reconciliation.
func ofAllTemplates(err error) bool {
	failure, ok := errors.AsType[*syntax.Error](err)
	return !ok || failure.Reason == syntax.Budget || failure.Reason == syntax.Interrupted
}

// Sound reports whether all objects of a child template are known, and no other document defines one of them.
func (d *Desired) Sound(entry string) bool {
	return !slices.Contains(d.Failed, entry) && !slices.ContainsFunc(d.Faults, func(f Fault) bool { return f.of(entry) })
}
