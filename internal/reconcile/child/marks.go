package child

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/seal"
)

// Marks describes the labels, annotations and owner reference that templater adds to a child. They are not part of the desired content, so that
// a difference in them never recreates an object.
type Marks struct {
	maker *Maker
	entry *v1.Child
	kind  schema.GroupKind // of the object
	// crossScope is true if the object has no owner reference to its parent, whatever its namespace: see the function crossScope.
	crossScope bool
	// managedBy is true if templater sets the common label, because the template does not.
	managedBy bool
}

// Maker creates the Marks for all children of one parent.
type Maker struct {
	*Ownership
	Parent *object.Object
	Depth  int // depth of the children
	// Finalize is what happens before the parent is removed, or nil.
	Finalize *v1.Finalize
	Clock    clock.PassiveClock

	address string // address of the parent, set on first use: see object.ParentAddress
}

// Marks returns the Marks of a child in that namespace. managedBy is whether templater sets the common label.
func (m *Maker) Marks(entry *v1.Child, kind schema.GroupKind, namespace string, managedBy bool) Marks {
	return Marks{maker: m, entry: entry, kind: kind, crossScope: crossScope(entry, namespace, m.Parent), managedBy: managedBy}
}

// Unwanted returns a Wanted for a child that is kept although no template renders it anymore. It has the Marks of its child template: they
// record the child's policies in case the child template is removed from the spec.
func (m *Maker) Unwanted(entry *v1.Child, l *Live) *Wanted {
	return &Wanted{Entry: entry, Kind: l.Kind, Name: l.Object.Key(), Marks: m.Marks(entry, l.Kind.GroupKind(), l.Object.Namespace(), false)}
}

// NeedsSeal reports whether an owned object without a child template has no valid seal for the parent, or a seal with an old key.
func (m *Maker) NeedsSeal(l *Live) bool {
	_, ok := m.says(l)
	return !ok || m.Seals.KeyOutdated(l.Object.Annotation(v1.AnnotationSeal))
}

// Reseal returns the patch that renews the seal of an owned object without a child template.
func (m *Maker) Reseal(l *Live) request.Metadata { return m.reseal(l, m.known(l)) }

// Retain returns the patch that records in the seal of a child without an owner reference that it is orphaned when its parent is deleted.
func (m *Maker) Retain(l *Live) request.Metadata {
	note := m.known(l)
	note.Policies.DeletionOrphan = true
	return m.reseal(l, note)
}

// says returns what the seal of the parent's child proves.
func (m *Maker) says(l *Live) (seal.Note, bool) {
	kind := l.Kind.GroupKind()
	return proven(l.Object, func(o *object.Object) (seal.Note, bool) { return m.openFor(o, kind) })
}

// known returns what the seal of a child proves. If it proves nothing, the policies are to keep the child.
func (m *Maker) known(l *Live) seal.Note {
	if note, ok := m.says(l); ok {
		return note
	}
	return seal.Note{Entry: l.MadeFrom, Policies: seal.Keep}
}

// reseal returns the patch with a new seal for note, and the annotations that repeat it.
func (m *Maker) reseal(l *Live, note seal.Note) request.Metadata {
	kind := l.Kind.GroupKind()
	note.Serial = m.serial(l.Object, kind)
	change := request.Metadata{UID: l.Object.UID(), Annotations: map[string]any{v1.AnnotationSeal: m.Seals.Seal(m.subject(l.Object.Key(), kind, identity(m.Parent)), note)}}
	for _, annotation := range repeated(note, l.Object.CrossScope()) {
		if value := l.Object.Annotation(annotation.key); annotation.differs(value, value != "") {
			change.Annotations[annotation.key] = annotation.wanted()
		}
	}
	return change
}

// SignUnverified returns a valid seal for an object, for callers that have no keys and trust what the object says about itself: in its seal or, if it has
// none, in its annotations. It returns "" if the seal is already valid.
func (m *Maker) SignUnverified(kind schema.GroupKind, o *object.Object) string {
	if note, holds := m.openFor(o, kind); holds && !note.Old {
		return ""
	}
	note := seal.Read(o.Annotation(v1.AnnotationSeal))
	if note.Old || note.Serial == 0 {
		order, _ := strconv.Atoi(o.Annotation(v1.AnnotationOrder))
		note = seal.Note{Entry: o.Label(v1.LabelChild), Hash: o.Annotation(v1.AnnotationHash), Policies: seal.Policies{
			PruneOrphan:    o.Annotation(v1.AnnotationPrune) == string(v1.PruneOrphan),
			DeletionOrphan: o.Annotation(v1.AnnotationDeletion) == string(v1.DeletionOrphan) || o.Annotation(v1.AnnotationParent) != "" && !o.CrossScope(),
			Order:          order,
		}}
	}
	note.Hash = cmp.Or(note.Hash, "none") // it was made from other content than the desired one
	return m.Seals.Seal(m.subject(o.Key(), kind, identity(m.Parent)), note)
}

// repeated returns the annotations that show readers what a seal records, except for its child template.
func repeated(n seal.Note, crossScope bool) [4]mark {
	all := [4]mark{{key: v1.AnnotationHash, value: n.Hash}, {key: v1.AnnotationPrune}, {key: v1.AnnotationDeletion}, {key: v1.AnnotationOrder}}
	if n.Policies.PruneOrphan {
		all[1].value = string(v1.PruneOrphan)
	}
	if n.Policies.DeletionOrphan && crossScope {
		all[2].value = string(v1.DeletionOrphan)
	}
	if n.Policies.Order > 0 {
		all[3].value = strconv.Itoa(n.Policies.Order)
	}
	return all
}

// RemoveOwnerReference returns the patch that removes the child's owner reference to the parent with that UID. It replaces the whole list.
func (l *Live) RemoveOwnerReference(parent types.UID) request.Metadata {
	return request.Metadata{UID: l.Object.UID(), Version: l.Object.ResourceVersion(), Owners: otherOwners(l.Object, parent)}
}

// mark is a label or an annotation that templater manages. If value is empty, the key must not exist.
type mark struct {
	key, value string
	// given is true if any existing value is accepted.
	given bool
}

func (m Marks) labels() [5]mark {
	label, name := v1.ControllerLabel(m.maker.Controller)
	other := v1.LabelNamespacedController
	if label == other {
		other = v1.LabelController
	}
	all := [5]mark{
		{key: label, value: name},
		{key: v1.LabelChild, value: m.entry.Name},
		{key: v1.LabelParentUID, value: string(m.maker.Parent.UID())},
		{key: v1.LabelManagedBy, given: true},
		{key: other}, // with both labels, one of the two controllers would not find its child
	}
	if m.managedBy {
		all[3].value = v1.ManagedBy
	}
	return all
}

// policiesFrom is the index of the first annotation that depends on policies.
const policiesFrom = 1

func (m Marks) annotations() [5]mark {
	all := [5]mark{
		{key: v1.AnnotationDepth, value: strconv.Itoa(m.maker.Depth)}, {key: v1.AnnotationParent},
	}
	switch {
	case m.crossScope:
		all[1].value = m.maker.parentAddress()
	case m.orphan():
		all[1].value = m.maker.Parent.Name()
	}
	policies := repeated(seal.Note{Policies: m.policies()}, m.crossScope)
	copy(all[2:], policies[1:])
	return all
}

// level is the level of the child if the children of a deleted parent are deleted in reverse order, or else 0.
func (m Marks) level() int {
	if m.maker.Finalize == nil || m.maker.Finalize.Order != v1.FinalizeReverse {
		return 0
	}
	return m.maker.Levels[m.entry.Name]
}

// orphan reports whether the child is orphaned when its parent is deleted.
func (m Marks) orphan() bool { return m.entry.DeletionPolicy == v1.DeletionOrphan }

// bound reports whether the child has an owner reference to its parent.
func (m Marks) bound() bool { return !m.orphan() && !m.crossScope }

// owner returns the owner reference from the child to its parent. A child that is created while the parent is being deleted does not block the
// deletion. Otherwise the garbage collector would delete it during a foreground deletion of the parent.
func (m Marks) owner() object.Owner {
	return object.Owner{APIVersion: m.maker.APIVersion, Kind: m.maker.Parents.Kind, Name: m.maker.Parent.Name(), UID: m.maker.Parent.UID(), Controller: true, Block: !m.final()}
}

// final reports whether the child is one of spec.finalize.children.
func (m Marks) final() bool {
	return m.maker.Finalize != nil && Entries(m.maker.Finalize.Children).Have(m.entry.Name)
}

// reference returns owner as JSON data.
func (m Marks) reference() map[string]any {
	o := m.owner()
	return map[string]any{
		"apiVersion": o.APIVersion, "kind": o.Kind, "name": o.Name, "uid": string(o.UID),
		"controller": o.Controller, "blockOwnerDeletion": o.Block,
	}
}

// Differ reports whether an object has missing or extra labels, annotations or owner references of templater, or an outdated seal.
func (m Marks) Differ(o *object.Object) bool {
	for _, label := range m.labels() {
		if value, has := o.Lookup(label.key); label.differs(value, has) {
			return true
		}
	}
	all := m.annotations()
	return anyDiffers(all[:], o) || m.ownerDiffers(o) || m.Unsealed(o) || m.adopts(o)
}

// adopts reports whether an object still has the annotation that lets templater adopt it. Until it is removed, writes have the resource version of
// the object: its owner may withdraw the consent, or give the object a controller.
func (m Marks) adopts(o *object.Object) bool {
	return m.entry.Adoption == v1.AdoptionIfConsented && o.Annotation(v1.AnnotationAdopt) != ""
}

// policiesDiffer reports whether the annotations of an object differ from the policies to seal.
func (m Marks) policiesDiffer(o *object.Object) bool {
	all := m.annotations()
	return anyDiffers(all[policiesFrom:], o)
}

func anyDiffers(annotations []mark, o *object.Object) bool {
	return slices.ContainsFunc(annotations, func(m mark) bool {
		value := o.Annotation(m.key)
		return m.differs(value, value != "")
	})
}

func (m mark) differs(value string, has bool) bool {
	if m.given {
		return m.value != "" && !has
	}
	return m.value != value
}

func (m Marks) ownerDiffers(o *object.Object) bool {
	owner, _ := o.Owner(m.maker.Parent.UID())
	if !m.bound() {
		return owner.Controller // another reference belongs to another client
	}
	return owner != m.owner()
}

// Binds reports whether an object lacks the owner reference that would be added.
func (m Marks) Binds(o *object.Object) bool {
	_, bound := o.Owner(m.maker.Parent.UID())
	return m.bound() && !bound
}

// change returns the patch that sets the labels, annotations and owner reference of an object, with that hash in the seal.
func (m Marks) change(o *object.Object, hash string) request.Metadata {
	change := request.Metadata{UID: o.UID(), Labels: map[string]any{}, Annotations: map[string]any{}}
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
	if there := o.Annotation(v1.AnnotationHash); there != hash {
		change.Annotations[v1.AnnotationHash] = mark{value: hash}.wanted()
	}
	if note, _ := m.says(o); note.Hash != hash || m.policiesDiffer(o) || m.Unsealed(o) || m.KeyOutdated(o) {
		change.Annotations[v1.AnnotationSeal] = m.seal(o.Key(), hash, o)
	}
	if m.adopts(o) {
		change.Annotations[v1.AnnotationAdopt] = nil
		change.Version = o.ResourceVersion()
	}
	if m.ownerDiffers(o) {
		change.Owners = m.references(o)
		change.Version = o.ResourceVersion() // because the whole list is replaced
	}
	return change
}

// wanted returns the value for a merge patch; nil removes the key.
func (m mark) wanted() any {
	if m.value == "" {
		return nil
	}
	return m.value
}

// references returns the owner references that an object should have, including those of other owners.
func (m Marks) references(o *object.Object) []any {
	out := otherOwners(o, m.maker.Parent.UID())
	if m.bound() {
		out = append(out, m.reference())
	}
	return out
}

// otherOwners returns the owner references of an object except those to the parent with that UID. It is never nil.
func otherOwners(o *object.Object, parent types.UID) []any {
	there, _ := below(o.Content(), "metadata")["ownerReferences"].([]any)
	out := slices.DeleteFunc(there, func(reference any) bool {
		r, _ := reference.(map[string]any)
		return r["uid"] == string(parent)
	})
	if out == nil {
		return []any{}
	}
	return out
}

// added is the metadata that templater adds and whose value other clients may change: Marks only checks that it exists.
var added = map[string]any{"metadata": map[string]any{"labels": map[string]any{v1.LabelManagedBy: v1.ManagedBy}}}

// Added returns the content that templater adds and that counts as desired: the strategy Apply restores it if another client removes it. It is
// nil if nothing is added. It must not be modified.
func (m Marks) Added() map[string]any {
	if !m.managedBy {
		return nil
	}
	return added
}
