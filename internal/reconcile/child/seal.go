package child

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/seal"
)

// seal returns the seal for an object that is about to be applied with that hash. before is the existing object, or nil.
func (m Marks) seal(name types.NamespacedName, hash string, before *object.Object) string {
	return m.maker.Seals.Seal(m.subject(name), seal.Note{Entry: m.entry.Name, Hash: hash, Policies: m.policies(), Serial: m.maker.serial(before, m.kind)})
}

// serial returns the serial for the next seal of an object.
func (m *Maker) serial(before *object.Object, kind schema.GroupKind) int64 {
	var last int64
	if before != nil {
		note, _ := m.openFor(before, kind)
		last = note.Serial
	}
	return m.Seals.Serial(m.Clock.Now(), last)
}

// policies returns the policies to record in the seal.
func (m Marks) policies() seal.Policies {
	return seal.Policies{PruneOrphan: m.entry.PrunePolicy == v1.PruneOrphan, DeletionOrphan: m.orphan(), Order: m.level()}
}

func (m Marks) subject(name types.NamespacedName) seal.Subject {
	return m.maker.subject(name, m.kind, identity(m.maker.Parent))
}

// open returns the content of an object's seal, and whether it is valid.
func (m Marks) open(o *object.Object) (seal.Note, bool) {
	return m.maker.openFor(o, m.kind)
}

// says returns what the seal of an object proves, and whether it proves more than ownership.
func (m Marks) says(o *object.Object) (seal.Note, bool) { return proven(o, m.open) }

// proven returns what a seal proves in addition to ownership: nothing if it has the old format, or an earlier seal was restored.
func proven(o *object.Object, open func(*object.Object) (seal.Note, bool)) (seal.Note, bool) {
	if o.Noted(object.Restored) {
		return seal.Note{}, false
	}
	note, holds := open(o)
	if !holds || note.Old {
		return seal.Note{}, false
	}
	return note, true
}

// openFor returns the content of an object's seal, and whether it is valid for the parent.
func (m *Maker) openFor(o *object.Object, kind schema.GroupKind) (seal.Note, bool) {
	if o.Noted(object.Sealed) {
		return seal.Read(o.Annotation(v1.AnnotationSeal)), true
	}
	if o.HasController(m.Controller) && o.Label(v1.LabelParentUID) == string(m.Parent.UID()) && m.sealed(o, kind) {
		return seal.Read(o.Annotation(v1.AnnotationSeal)), true
	}
	return m.open(o, m.subject(o.Key(), kind, identity(m.Parent)))
}

// Unsealed reports whether an object has no valid seal, or its seal or annotations differ from what they should record. Any sealed hash is
// accepted: see Wanted.NeedsMark.
func (m Marks) Unsealed(o *object.Object) bool {
	round := m.maker.Seals.Round()
	if o.Settled(round) && o.Label(v1.LabelChild) == m.entry.Name {
		return false // the annotations agree with the seal, and are compared with the desired ones
	}
	note, ok := m.says(o)
	if !ok || note.Entry != m.entry.Name || note.Policies != m.policies() || note.Hash != o.Annotation(v1.AnnotationHash) {
		return true
	}
	if o.Noted(object.Sealed) && o.Label(v1.LabelChild) == note.Entry && !m.KeyOutdated(o) && !m.policiesDiffer(o) {
		o.Settle(round)
	}
	return false
}

// KeyOutdated reports whether the seal of an object was made with another key than the newest.
func (m Marks) KeyOutdated(o *object.Object) bool {
	return !o.Settled(m.maker.Seals.Round()) && m.maker.Seals.KeyOutdated(o.Annotation(v1.AnnotationSeal))
}
