package child

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/seal"
)

// Ownership decides which objects belong to a TemplateController. Labels, owner references and field managers are not trusted, because anyone
// can set them. An object is owned if it has a valid seal, or had one when this process first read it.
//
// Objects may be older than the keys for seals: after an upgrade from a version without seals, or if the keys are lost. These objects are
// adopted: they count as children until they are sealed as they are. When adoption is complete, this is recorded in the status of the
// TemplateController, and from then on objects without a seal are never children.
type Ownership struct {
	Controller string           // name of the TemplateController
	Manager    string           // its field manager
	Parents    schema.GroupKind // the parents' kind
	APIVersion string           // of the parents, as in the spec
	Seals      *seal.Ring
	// Entries are all child templates of the spec, including spec.finalize. Levels is their order: level 0 has no dependencies, and child
	// templates that are not in the map have level 0.
	Entries Entries
	Levels  map[string]int
	// Departed are owned objects that watches no longer show, or that are no longer labeled as owned.
	Departed *Departed
	// Adopting is true if children may have no seal, according to the keys of Round.
	Adopting bool
	Round    uint32
}

// Adopting reports whether children of a TemplateController may be older than the keys for seals, which exist since that time.
func Adopting(tc *v1.TemplateController, since time.Time) bool {
	if since.IsZero() || !tc.CreationTimestamp.Time.Before(since) {
		return false
	}
	return tc.Status.SealedSince == nil || !tc.Status.SealedSince.Time.Equal(since)
}

// Made reports whether a labeled object is a child of any parent of this controller, existing or not.
func (r *Ownership) Made(o *object.Object, kind schema.GroupKind) bool {
	if owner, has := o.Controller(); has && !r.parental(owner) {
		return false
	}
	return r.genuine(o, kind)
}

// Names reports whether a labeled object has a seal for the parent that it names, or is to be adopted. Anyone who may edit a child can make it
// name another parent; it remains a child.
func (r *Ownership) Names(o *object.Object, kind schema.GroupKind) bool {
	return r.Made(o, kind) && (r.sealed(o, kind) || r.adopts(o))
}

// Belongs reports whether an object with the labels of this controller and of that parent is the parent's child, regardless of the parent name
// in its annotation.
func (r *Ownership) Belongs(o *object.Object, kind schema.GroupKind, parent *object.Object) bool {
	if owner, has := o.Controller(); has && owner.UID != parent.UID() {
		return false
	}
	if r.genuine(o, kind) {
		return true
	}
	ours := r.sealedFor(o, kind, identity(parent))
	if ours {
		o.Note(object.Ours)
	}
	return ours
}

// Ours reports whether any object is a child of that parent, even without its labels.
func (r *Ownership) Ours(o *object.Object, kind schema.GroupKind, parent seal.Parent) bool {
	if owner, has := o.Controller(); has && owner.UID != parent.UID {
		return false
	}
	labeled := o.Label(v1.LabelParentUID) == string(parent.UID)
	if labeled && o.HasController(r.Controller) && r.genuine(o, kind) {
		return true
	}
	return r.sealedFor(o, kind, parent) || r.Departed.has(r.Controller, parent.UID, o.UID()) || r.adopts(o) && (labeled || ownedBy(o, parent.UID))
}

// MadeForEarlier reports whether templater created the object for an earlier parent of the same name, which was deleted.
func (r *Ownership) MadeForEarlier(there *object.Object, kind schema.GroupKind, parent *object.Object) bool {
	uid, earlier := r.earlier(there, kind, parent)
	return earlier && !there.Deleting() && r.Ours(there, kind, seal.Parent{UID: uid, Name: parent.Key()})
}

// GoesWith reports whether a labeled object is deleted with the TemplateController, according to its policies. An object
// in another scope than its parent is also kept if its seal says so: --cascade=orphan of the parent may have set that.
func (r *Ownership) GoesWith(l *Live, all Entries) bool {
	if !r.Made(l.Object, l.Kind.GroupKind()) || !all.Prunes(l) || all.deletionPolicy(l) == v1.DeletionOrphan {
		return false
	}
	note, _ := l.says()
	return !l.Object.CrossScope() || !note.Policies.DeletionOrphan
}

// Unsealed reports whether a labeled child of any parent still has to be sealed.
func (r *Ownership) Unsealed(o *object.Object, kind schema.GroupKind) bool {
	return !o.Deleting() && r.Made(o, kind) && !r.sealed(o, kind)
}

// NoteWritten records that an object is owned, and in the state of this process's last write.
func NoteWritten(after *object.Object) { after.Note(object.Ours | object.OwnWrite) }

// genuine reports whether templater created a labeled object for the parent that it names.
func (r *Ownership) genuine(o *object.Object, kind schema.GroupKind) bool {
	if o.Noted(object.Ours) {
		return true
	}
	round := r.Seals.Round()
	if o.Refused(round) {
		return false
	}
	ours := r.sealed(o, kind) || r.adopts(o)
	switch {
	case ours:
		o.Note(object.Ours)
	case round == r.Round: // otherwise, the next sync of the TemplateController may find that the object is to be adopted
		o.Refuse(round)
	}
	return ours
}

// sealed reports whether a labeled object has a valid seal for the parent that it names; its label has the UID.
func (r *Ownership) sealed(o *object.Object, kind schema.GroupKind) bool {
	if o.Noted(object.Sealed) {
		return true
	}
	namespace, name := o.ParentName()
	holds := r.sealedFor(o, kind, seal.Parent{UID: types.UID(o.Label(v1.LabelParentUID)), Name: types.NamespacedName{Namespace: namespace, Name: name}})
	if holds {
		o.Note(object.Sealed)
	}
	return holds
}

// sealedFor reports whether the object has a valid seal for that parent, regardless of the parent that it names.
func (r *Ownership) sealedFor(o *object.Object, kind schema.GroupKind, parent seal.Parent) bool {
	_, holds := r.open(o, r.subject(o.Key(), kind, parent))
	return holds
}

// subject returns the subject that the seal of an owned object must have.
func (r *Ownership) subject(name types.NamespacedName, kind schema.GroupKind, parent seal.Parent) seal.Subject {
	namespace, controller := v1.SplitKey(r.Controller)
	definition := seal.Definition{Kind: v1.KindOf(r.Controller), Name: types.NamespacedName{Namespace: namespace, Name: controller}}
	parent.Kind = r.Parents
	return seal.Subject{Definition: definition, Parent: parent, Kind: kind, Name: name}
}

// identity returns what the seals of children contain about their parent.
func identity(parent *object.Object) seal.Parent {
	return seal.Parent{UID: parent.UID(), Name: parent.Key()}
}

// open returns the content of an object's seal, and whether it is valid for the subject.
func (r *Ownership) open(o *object.Object, subject seal.Subject) (seal.Note, bool) {
	note, verdict := r.Seals.Open(o.Annotation(v1.AnnotationSeal), subject)
	return note, verdict == seal.Valid
}

// adopts reports whether an object without a valid seal still counts as owned: it is older than the current keys, has no seal made with them,
// and looks like a child. Adoption ends once all such objects are sealed.
func (r *Ownership) adopts(o *object.Object) bool {
	if !r.Adopting {
		return false
	}
	if _, verdict := r.Seals.Open(o.Annotation(v1.AnnotationSeal), seal.Subject{}); verdict == seal.Broken {
		return false
	}
	if made := createdAt(o); made.IsZero() || !made.Before(r.Seals.Since()) {
		return false
	}
	if owner, has := o.Controller(); has {
		return r.parental(owner) && (r.applied(o) || o.HasController(r.Controller) && o.Label(v1.LabelParentUID) == string(owner.UID))
	}
	return r.applied(o) && o.HasController(r.Controller)
}

// applied reports whether the field manager of this controller has applied fields of the object, as in every object that it creates.
func (r *Ownership) applied(o *object.Object) bool { return o.Applied(r.Manager, "") != nil }

// parental reports whether an owner is of the parents' kind, in any version.
func (r *Ownership) parental(owner object.Owner) bool {
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() == r.Parents
}

// earlier reports whether an object belongs to an earlier parent of the same name, and returns its UID. Without an owner reference, its seal has
// to prove that, because the garbage collector does not delete the object.
func (r *Ownership) earlier(o *object.Object, kind schema.GroupKind, parent *object.Object) (types.UID, bool) {
	if owner, has := o.Controller(); has {
		return owner.UID, r.parental(owner) && owner.Name == parent.Name() && owner.UID != parent.UID()
	}
	uid := types.UID(o.Label(v1.LabelParentUID))
	namespace, name := o.ParentName()
	if r.Live(anyVersion(kind), o).Outlives() || namespace != parent.Namespace() || name != parent.Name() || uid == "" || uid == parent.UID() {
		return "", false
	}
	return uid, r.sealedFor(o, kind, seal.Parent{UID: uid, Name: parent.Key()})
}

// Proven reports whether the seal of a child proves that it was created for the earlier parent of that name that the child refers to. An adopted
// child proves nothing: in a restored backup its parent exists, with another UID. A seal of an earlier format proves nothing either: it may be
// from a TemplateController of the same name for another kind of parents.
func (r *Ownership) Proven(l *Live, parent types.NamespacedName) bool {
	uid := l.ParentUID()
	if owner, has := l.Object.Controller(); has {
		uid = owner.UID
	}
	note, holds := r.open(l.Object, r.subject(l.Object.Key(), l.Kind.GroupKind(), seal.Parent{UID: uid, Name: parent}))
	return holds && !note.Old
}

// createdAt returns when the object was created, in API server time, or the zero time if unknown.
func createdAt(o *object.Object) time.Time {
	at, err := time.Parse(time.RFC3339, o.Text("metadata", "creationTimestamp"))
	if err != nil {
		return time.Time{}
	}
	return at
}

// anyVersion returns the kind for a GroupKind, without a version.
func anyVersion(of schema.GroupKind) kind.Kind {
	return kind.Kind{Resource: schema.GroupVersionResource{Group: of.Group}, Kind: of.Kind}
}

func ownedBy(o *object.Object, parent types.UID) bool {
	_, has := o.Owner(parent)
	return has
}

// Departed records the UIDs of owned objects that a watch no longer shows, or that have lost their labels or seal, so that they still count as
// owned. Its size is limited, and it stores only hashes. It is safe for concurrent use.
type Departed struct {
	hashes [maxDeparted]atomic.Uint64
}

const maxDeparted = 1024

var departedSeed = maphash.MakeSeed()

// Note records an object that was owned in its last state, and is not recognized as owned in its current state, because another client changed
// its labels. now is nil if the watch no longer shows the object, and last is nil for a new object.
func (d *Departed) Note(last, now *object.Object) {
	switch {
	case last == nil || !last.Noted(object.Ours):
	case now == nil || now.UID() == last.UID() && !now.Noted(object.Ours):
		d.note(last.ControllerKey(), types.UID(last.Label(v1.LabelParentUID)), last.UID())
	}
}

func (d *Departed) note(controller string, parent, child types.UID) {
	h := departedHash(controller, parent, child)
	d.hashes[h%maxDeparted].Store(h)
}

func (d *Departed) has(controller string, parent, child types.UID) bool {
	h := departedHash(controller, parent, child)
	return d.hashes[h%maxDeparted].Load() == h
}

// departedHash is never 0. It cannot be guessed: the seed is secret, and the API server chooses UIDs.
func departedHash(controller string, parent, child types.UID) uint64 {
	return maphash.Comparable(departedSeed, [3]string{controller, string(parent), string(child)}) | 1
}
