package child

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/seal"
)

// seal returns the seal for an object that is about to be applied.
func (m Marks) seal(name types.NamespacedName) string {
	return m.maker.Seals.Seal(m.subject(name), seal.Note{Entry: m.entry.Name, Applied: m.maker.Seals.Stamp(m.maker.Clock.Now())})
}

func (m Marks) subject(name types.NamespacedName) seal.Subject {
	return m.maker.subject(name, m.kind, identity(m.maker.Parent))
}

// open returns what the seal of an object says, and whether it holds.
func (m Marks) open(o *object.Object) (seal.Note, bool) {
	return m.maker.openFor(o, m.kind)
}

// openFor returns what the seal of an object of that kind says, and whether it holds for the parent.
func (m *Maker) openFor(o *object.Object, kind schema.GroupKind) (seal.Note, bool) {
	if o.Noted(object.Sealed) {
		return seal.Read(o.Annotation(v1.AnnotationSeal)), true
	}
	if o.Label(v1.LabelController) == m.Controller && o.Label(v1.LabelParentUID) == string(m.Parent.UID()) && m.sealed(o, kind) {
		return seal.Read(o.Annotation(v1.AnnotationSeal)), true
	}
	return m.open(o, m.subject(o.Key(), kind, identity(m.Parent)))
}

// Unsealed reports whether an object lacks our seal, or has that of another entry.
func (m Marks) Unsealed(o *object.Object) bool {
	round := m.maker.Seals.Round()
	if o.Settled(round) && o.Label(v1.LabelChild) == m.entry.Name {
		return false
	}
	note, holds := m.open(o)
	if !holds || note.Entry != m.entry.Name {
		return true
	}
	if o.Noted(object.Sealed) && o.Label(v1.LabelChild) == note.Entry && !m.KeyOutdated(o) && !m.Altered(o) {
		o.Settle(round)
	}
	return false
}

// KeyOutdated reports whether the seal of an object is by another key than the newest.
func (m Marks) KeyOutdated(o *object.Object) bool {
	return !o.Settled(m.maker.Seals.Round()) && m.maker.Seals.KeyOutdated(o.Annotation(v1.AnnotationSeal))
}

// renewed is the seal for an object that is not applied.
func (m Marks) renewed(o *object.Object) string {
	note, holds := m.open(o)
	if !holds {
		note.Applied = laterOf(o.AppliedAt(), createdAt(o))
	}
	note.Entry = m.entry.Name
	return m.maker.Seals.Seal(m.subject(o.Key()), note)
}

// Altered reports whether somebody else has applied an object as if it were templater. This process sees that from what we held
// before. Of an object that was there before it, the time tells.
func (m Marks) Altered(o *object.Object) bool {
	if o.Settled(m.maker.Seals.Round()) {
		return false
	}
	if o.Noted(object.Altered) {
		return true
	}
	at := o.AppliedAt()
	if at.IsZero() || o.Noted(object.Fresh) {
		return false
	}
	note, holds := m.open(o)
	return holds && at.Sub(note.Applied).Abs() > seal.Tolerance
}
