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

// Marks are what templater adds to a child: labels, annotations and an owner reference. They are not part of
// the desired content, so that a difference in them never recreates an object.
type Marks struct {
	maker *Maker
	entry *v1.Child
	kind  schema.GroupKind // of the object
	// crossScope is whether no owner reference binds the object to its parent, wherever it is: see crossScope.
	crossScope bool
	// managedBy is whether templater sets the common label, which is left alone where the author does.
	managedBy bool
}

// Maker is what all children of one parent are made with.
type Maker struct {
	*Ownership
	Parent *object.Object
	Depth  int // of the children
	// Finalize is what happens before the parent is removed, nil = nothing.
	Finalize *v1.Finalize
	Clock    clock.PassiveClock

	address string // of the parent: see object.ParentAddress; "" until somebody asks
}

// Marks are those of a child in that namespace that is made from an entry; managedBy is whether templater sets the common label.
func (m *Maker) Marks(entry *v1.Child, kind schema.GroupKind, namespace string, managedBy bool) Marks {
	return Marks{maker: m, entry: entry, kind: kind, crossScope: crossScope(entry, namespace, m.Parent), managedBy: managedBy}
}

// Unwanted stands for a child that no template yields any more and that is kept, with the marks of its child template: only they
// record its policies once the child template is removed from the spec.
func (m *Maker) Unwanted(entry *v1.Child, l *Live) *Wanted {
	return &Wanted{Entry: entry, Kind: l.Kind, Name: l.Object.Key(), Marks: m.Marks(entry, l.Kind.GroupKind(), l.Object.Namespace(), false)}
}

// NeedsSeal reports whether an object of ours, which no entry knows, lacks our seal for the parent, or has it by another key than the newest.
func (m *Maker) NeedsSeal(l *Live) bool {
	_, ok := m.says(l)
	return !ok || m.Seals.KeyOutdated(l.Object.Annotation(v1.AnnotationSeal))
}

// Reseal is what renews the seal of an object of ours that no entry knows.
func (m *Maker) Reseal(l *Live) request.Metadata { return m.reseal(l, m.known(l)) }

// Retain is what has a child outlive its parent that no owner reference binds to it, as its seal then says.
func (m *Maker) Retain(l *Live) request.Metadata {
	note := m.known(l)
	note.Policies.DeletionOrphan = true
	return m.reseal(l, note)
}

// says returns what the seal of a child of the parent proves.
func (m *Maker) says(l *Live) (seal.Note, bool) {
	kind := l.Kind.GroupKind()
	return proven(l.Object, func(o *object.Object) (seal.Note, bool) { return m.openFor(o, kind) })
}

// known is what the seal of a child proves. Where it proves nothing, the child is kept.
func (m *Maker) known(l *Live) seal.Note {
	if note, ok := m.says(l); ok {
		return note
	}
	return seal.Note{Entry: l.MadeFrom, Policies: seal.Keep}
}

// reseal gives a child a seal with that note, and the annotations that repeat it.
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

// Vouch returns a valid seal for an object of that kind, for callers that have no keys and trust what the object says about itself:
// in its seal or, if it has none, in its annotations. It returns "" if the seal is valid already.
func (m *Maker) Vouch(kind schema.GroupKind, o *object.Object) string {
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
	note.Hash = cmp.Or(note.Hash, "none") // it was made from something else than what is desired
	return m.Seals.Seal(m.subject(o.Key(), kind, identity(m.Parent)), note)
}

// repeated are the annotations that show readers what a seal records, except for its child template.
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

// Unbind is what takes the owner reference to the parent with that UID from a child. The list is replaced as a whole.
func (l *Live) Unbind(parent types.UID) request.Metadata {
	return request.Metadata{UID: l.Object.UID(), Version: l.Object.ResourceVersion(), Owners: otherOwners(l.Object, parent)}
}

// mark is a label or an annotation that templater sees to; an empty value is for none.
type mark struct {
	key, value string
	// given is whether another value will do, too, once there is one.
	given bool
}

func (m Marks) labels() [4]mark {
	all := [4]mark{
		{key: v1.LabelController, value: m.maker.Controller},
		{key: v1.LabelChild, value: m.entry.Name},
		{key: v1.LabelParentUID, value: string(m.maker.Parent.UID())},
		{key: v1.LabelManagedBy, given: true},
	}
	if m.managedBy {
		all[3].value = v1.ManagedBy
	}
	return all
}

// policiesFrom is where the annotations begin that depend on policies.
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

// level is that of the child where the children of a deleted parent go in order; else it is 0.
func (m Marks) level() int {
	if m.maker.Finalize == nil || m.maker.Finalize.Order != v1.FinalizeReverse {
		return 0
	}
	return m.maker.Levels[m.entry.Name]
}

// orphan reports whether the child is to outlive its parent.
func (m Marks) orphan() bool { return m.entry.DeletionPolicy == v1.DeletionOrphan }

// bound reports whether an owner reference binds the child to its parent.
func (m Marks) bound() bool { return !m.orphan() && !m.crossScope }

// owner is the owner reference that binds the child to its parent. What is made while the parent is being deleted blocks
// nothing: else the garbage collector would take it from a parent that is deleted in the foreground.
func (m Marks) owner() object.Owner {
	return object.Owner{APIVersion: m.maker.APIVersion, Kind: m.maker.Parents.Kind, Name: m.maker.Parent.Name(), UID: m.maker.Parent.UID(), Controller: true, Block: !m.final()}
}

// final reports whether the child is one of spec.finalize.children.
func (m Marks) final() bool {
	return m.maker.Finalize != nil && Entries(m.maker.Finalize.Children).Have(m.entry.Name)
}

// reference is owner as JSON data.
func (m Marks) reference() map[string]any {
	o := m.owner()
	return map[string]any{
		"apiVersion": o.APIVersion, "kind": o.Kind, "name": o.Name, "uid": string(o.UID),
		"controller": o.Controller, "blockOwnerDeletion": o.Block,
	}
}

// Differ reports whether an object lacks some of the marks, or has some too many.
func (m Marks) Differ(o *object.Object) bool {
	for _, label := range m.labels() {
		if value, has := o.Lookup(label.key); label.differs(value, has) {
			return true
		}
	}
	all := m.annotations()
	return anyDiffers(all[:], o) || m.ownerDiffers(o) || m.Unsealed(o)
}

// policiesDiffer reports whether the annotations of an object name other policies than those that are to be sealed.
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
		return owner.Controller // another reference is somebody else's
	}
	return owner != m.owner()
}

// Binds reports whether an object lacks the owner reference that the marks would add.
func (m Marks) Binds(o *object.Object) bool {
	_, bound := o.Owner(m.maker.Parent.UID())
	return m.bound() && !bound
}

// change is what gives an object the marks, with that hash in the seal.
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
	if m.ownerDiffers(o) {
		change.Owners = m.references(o)
		change.Version = o.ResourceVersion() // the list is replaced as a whole
	}
	return change
}

// wanted is the value in a merge patch, where nil removes the key.
func (m mark) wanted() any {
	if m.value == "" {
		return nil
	}
	return m.value
}

// references are the owner references that an object should have; those of others stay.
func (m Marks) references(o *object.Object) []any {
	out := otherOwners(o, m.maker.Parent.UID())
	if m.bound() {
		out = append(out, m.reference())
	}
	return out
}

// otherOwners are the owner references of an object but for the one to the parent with that UID; never nil.
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

// added is what others may change among the marks without a difference that counts, as far as templater sets it.
var added = map[string]any{"metadata": map[string]any{"labels": map[string]any{v1.LabelManagedBy: v1.ManagedBy}}}

// Added is the content that templater adds and that counts as desired: under the strategy Apply it is restored when
// someone else has removed it. It is nil if nothing is added. It must not be changed.
func (m Marks) Added() map[string]any {
	if !m.managedBy {
		return nil
	}
	return added
}
