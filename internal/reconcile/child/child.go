package child

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/seal"
)

// Wanted is a child as it should be.
type Wanted struct {
	Entry   *v1.Child // of spec.children
	Kind    kind.Kind
	Name    types.NamespacedName
	Content map[string]any // as its author wants it; see Marks for what comes on top
	Hash    string         // of Content
	Marks   Marks
	Live    *Live // nil while it is not there: see Pair

	bytes int // of Content as JSON
	// disputed is whether another document wants the object, too.
	disputed bool
	line     int32 // of the template where the document begins
}

// Live is a child as it is.
type Live struct {
	Entry    string // the one of spec.children that it belongs to: see Pair
	MadeFrom string // the entry that it was made from
	Kind     kind.Kind
	Object   *object.Object
	Wanted   *Wanted // nil where nobody wants it any more

	rule *Ownership // that opens its seal; nil where no seal is opened
}

// Live returns an object of ours under the entry that it was made from.
func (r *Ownership) Live(kind kind.Kind, o *object.Object) *Live {
	l := NewLive(kind, o)
	l.rule = r
	return l
}

// NewLive returns an object of ours under the entry that it was made from: its seal tells, or, where it has lost that, its label. Its
// seal is not opened, so that its policies are known by its entry alone: see Ownership.Live.
func NewLive(kind kind.Kind, o *object.Object) *Live {
	entry := o.Label(v1.LabelChild)
	if o.Noted(object.Sealed) && !o.Noted(object.Settled) {
		entry = seal.Read(o.Annotation(v1.AnnotationSeal)).Entry
	}
	return &Live{Entry: entry, MadeFrom: entry, Kind: kind, Object: o}
}

// ID tells one child of a parent from another, whatever its version.
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
func (w *Wanted) Applied(after *object.Object) { after.Note(object.Ours | object.Fresh) }

// Line is where the document begins in the template of the entry.
func (w *Wanted) Line() int { return int(w.line) }
