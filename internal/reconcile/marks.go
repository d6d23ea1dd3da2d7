package reconcile

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/seal"
)

// marks are what templater adds to a child: labels, annotations and an owner reference. They are no part of
// what its author wants, so that a difference in them never replaces an object.
type marks struct {
	maker *maker
	child *v1.Child
	kind  schema.GroupKind // of the object
	// managedBy is whether templater sets the common label, which is left alone where the author does.
	managedBy bool
}

// maker is who makes the children of one parent.
type maker struct {
	controller       string
	apiVersion, kind string // of the parent
	parent           *object.Object
	depth            int // of the children
	seals            *seal.Ring
	clock            clock.PassiveClock
}

// mark is a label or an annotation that templater sees to; an empty value is for none.
type mark struct {
	key, value string
	// given is whether another value will do, too, once there is one.
	given bool
}

func (m marks) labels() [4]mark {
	all := [4]mark{
		{key: v1.LabelController, value: m.maker.controller},
		{key: v1.LabelChild, value: m.child.Name},
		{key: v1.LabelParentUID, value: string(m.maker.parent.UID())},
		{key: v1.LabelManagedBy, given: true},
	}
	if m.managedBy {
		all[3].value = v1.ManagedBy
	}
	return all
}

func (m marks) annotations() [3]mark {
	all := [3]mark{{key: v1.AnnotationDepth, value: strconv.Itoa(m.maker.depth)}, {key: v1.AnnotationPrune}, {key: v1.AnnotationParent}}
	if m.child.PrunePolicy == v1.PruneOrphan {
		all[1].value = string(v1.PruneOrphan)
	}
	if m.orphan() {
		all[2].value = m.maker.parent.Name()
	}
	return all
}

// orphan reports whether the child is to outlive its parent.
func (m marks) orphan() bool { return m.child.DeletionPolicy == v1.DeletionOrphan }

// owner is the owner reference, which the child has unless it is to outlive its parent.
func (m marks) owner() object.Owner {
	return object.Owner{APIVersion: m.maker.apiVersion, Kind: m.maker.kind, Name: m.maker.parent.Name(), UID: m.maker.parent.UID(), Controller: true, Block: true}
}

// reference is owner as JSON data.
func (m marks) reference() map[string]any {
	o := m.owner()
	return map[string]any{
		"apiVersion": o.APIVersion, "kind": o.Kind, "name": o.Name, "uid": string(o.UID),
		"controller": o.Controller, "blockOwnerDeletion": o.Block,
	}
}

// differ reports whether an object lacks some of the marks, or has some too many.
func (m marks) differ(o *object.Object) bool {
	for _, label := range m.labels() {
		if value, has := o.Lookup(label.key); label.differs(value, has) {
			return true
		}
	}
	for _, annotation := range m.annotations() {
		if value := o.Annotation(annotation.key); annotation.differs(value, value != "") {
			return true
		}
	}
	return m.ownerDiffers(o) || m.unsealed(o)
}

func (m mark) differs(value string, has bool) bool {
	if m.given {
		return m.value != "" && !has
	}
	return m.value != value
}

func (m marks) ownerDiffers(o *object.Object) bool {
	owner, _ := o.Owner(m.maker.parent.UID())
	if m.orphan() {
		return owner.Controller // another reference is somebody else's
	}
	return owner != m.owner()
}

// change is what gives an object the marks, and leaves alone whatever else somebody has changed.
func (m marks) change(o *object.Object) kube.Metadata {
	change := kube.Metadata{UID: o.UID(), Labels: map[string]any{}, Annotations: map[string]any{}}
	for _, label := range m.labels() {
		if value, has := o.Lookup(label.key); label.differs(value, has) {
			change.Labels[label.key] = label.wanted()
		}
	}
	for _, annotation := range m.annotations() {
		if value := o.Annotation(annotation.key); annotation.differs(value, value != "") {
			change.Annotations[annotation.key] = annotation.wanted()
		}
	}
	if m.unsealed(o) || m.worn(o) {
		change.Annotations[v1.AnnotationSeal] = m.renewed(o)
	}
	if m.ownerDiffers(o) {
		change.Owners = m.references(o)
		change.Version = o.ResourceVersion() // the list is replaced as a whole
	}
	return change
}

// wanted is the value in a merge patch, where nil takes the key away.
func (m mark) wanted() any {
	if m.value == "" {
		return nil
	}
	return m.value
}

// references are the owner references that an object should have; those of others stay.
func (m marks) references(o *object.Object) []any {
	there, _ := below(o.Content(), "metadata")["ownerReferences"].([]any)
	uid := string(m.maker.parent.UID())
	out := slices.DeleteFunc(there, func(reference any) bool {
		r, _ := reference.(map[string]any)
		return r["uid"] == uid
	})
	if !m.orphan() {
		out = append(out, m.reference())
	}
	if out == nil {
		return []any{}
	}
	return out
}

// added is what others may change among the marks without a difference that counts, as far as templater sets it.
// Under the strategy Apply it is given back when somebody else has taken it.
var added = map[string]any{"metadata": map[string]any{"labels": map[string]any{v1.LabelManagedBy: v1.ManagedBy}}}

// seal returns the seal for an object that is about to be applied.
func (m marks) seal(name types.NamespacedName) string {
	return m.maker.seals.Seal(m.subject(name), seal.Note{Entry: m.child.Name, Applied: m.maker.seals.Stamp(m.maker.clock.Now())})
}

func (m marks) subject(name types.NamespacedName) seal.Subject {
	return m.maker.subject(name, m.kind)
}

func (m *maker) subject(name types.NamespacedName, kind schema.GroupKind) seal.Subject {
	return seal.Subject{Controller: m.controller, Parent: m.parent.UID(), Kind: kind, Name: name}
}

// open returns what the seal of an object says, and whether it holds.
func (m marks) open(o *object.Object) (seal.Note, bool) {
	return m.maker.open(o, m.kind)
}

// open returns what the seal of an object of that kind says, and whether it holds for the parent.
func (m *maker) open(o *object.Object, kind schema.GroupKind) (seal.Note, bool) {
	if o.Noted(object.Sealed) {
		return seal.Read(o.Annotation(v1.AnnotationSeal)), true
	}
	note, holds := openSeal(m.seals, o, m.subject(o.Key(), kind))
	if holds && o.Label(v1.LabelController) == m.controller && o.Label(v1.LabelParentUID) == string(m.parent.UID()) {
		o.Note(object.Sealed)
	}
	return note, holds
}

// unsealed reports whether an object lacks our seal, or has that of another entry.
func (m marks) unsealed(o *object.Object) bool {
	round := m.maker.seals.Round()
	if o.Settled(round) && o.Label(v1.LabelChild) == m.child.Name {
		return false
	}
	note, holds := m.open(o)
	if !holds || note.Entry != m.child.Name {
		return true
	}
	if o.Noted(object.Sealed) && o.Label(v1.LabelChild) == note.Entry && !m.worn(o) && !m.altered(o) {
		o.Settle(round)
	}
	return false
}

// worn reports whether the seal of an object is by another key than the newest.
func (m marks) worn(o *object.Object) bool {
	return !o.Settled(m.maker.seals.Round()) && m.maker.seals.Worn(o.Annotation(v1.AnnotationSeal))
}

// renewed is the seal for an object that is not applied.
func (m marks) renewed(o *object.Object) string {
	note, holds := m.open(o)
	if !holds {
		note.Applied = laterOf(o.AppliedAt(), createdAt(o))
	}
	note.Entry = m.child.Name
	return m.maker.seals.Seal(m.subject(o.Key()), note)
}

// altered reports whether somebody else has applied an object as if it were templater. This process sees that from what we held
// before. Of an object that was there before it, the time tells.
func (m marks) altered(o *object.Object) bool {
	if o.Settled(m.maker.seals.Round()) {
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
