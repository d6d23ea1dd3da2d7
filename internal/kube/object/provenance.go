package object

import (
	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/seal"
)

// Follow copies the facts that still hold for o from before, an earlier state of the same object. Call it before o is shared, or
// if o is known to be based on before.
func (o *Object) Follow(before *Object) {
	if before.UID() != o.UID() {
		return
	}
	known := Fact(before.noted.Load())
	facts := o.provenance(before, known)
	if known&(Ours|Sealed) != 0 && o.sameParent(before) {
		facts |= known & Ours
		if o.sameSeal(before) && o.sameName(before) {
			facts |= known & Sealed
		}
	}
	o.Note(facts)
}

// provenance returns the facts about who wrote o, given the facts of the state before. It copies the hash of owned values only if
// the seal is the same: a new seal belongs to a write of another process, or to one of this process without a response. If
// another client changed the seal, it is trusted only if it is newer than all previous ones.
func (o *Object) provenance(before *Object, known Fact) Fact {
	switch {
	case o.Noted(OwnWrite):
		return 0
	case o.sameSeal(before):
		o.SetOwned(before.Owned())
		if known&Covered != 0 && (o.ControllerKey() != before.ControllerKey() || !o.sameOwned(before)) {
			known &^= Covered
		}
		return known & (Covered | Restored)
	case known&Restored != 0 || o.Serial() < before.Serial():
		return Restored
	}
	return 0
}

// Serial returns the serial of the seal without verifying it, or 0.
func (o *Object) Serial() int64 { return seal.Read(o.Annotation(v1.AnnotationSeal)).Serial }

// Written records that a write of this process resulted in o. after is the same state.
func (o *Object) Written(after *Object) {
	o.noted.And(^uint32(Restored))
	o.Follow(after)
}

// sameParent reports whether the labels name the same TemplateController and parent UID.
func (o *Object) sameParent(before *Object) bool {
	return o.text(o.labels) == before.text(before.labels) || o.ControllerKey() == before.ControllerKey() && o.Label(v1.LabelParentUID) == before.Label(v1.LabelParentUID)
}

// sameName reports whether both name the same parent.
func (o *Object) sameName(before *Object) bool {
	if o.text(o.annotations) == before.text(before.annotations) && o.text(o.owners) == before.text(before.owners) {
		return true
	}
	namespace, name := o.ParentName()
	namespaceBefore, nameBefore := before.ParentName()
	return name == nameBefore && namespace == namespaceBefore
}

// sameSeal reports whether both have the same seal.
func (o *Object) sameSeal(before *Object) bool {
	return o.text(o.annotations) == before.text(before.annotations) || o.Annotation(v1.AnnotationSeal) == before.Annotation(v1.AnnotationSeal)
}
