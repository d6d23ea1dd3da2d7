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

// Ownership is the rule for whose an object is, for one TemplateController. Labels, owner references and field managers say
// nothing, for anybody may write them. An object is ours when it carries our seal, or did so when this process first saw it.
//
// Objects may be older than the keys that seal them: after an upgrade from a version without seals, or when the keys are lost.
// Those are adopted: sealed as they are found, and counted as children until then. Once none is left, the
// TemplateController's status says so, and an object without a seal is no child of it ever after.
type Ownership struct {
	Controller string           // name of the TemplateController
	Manager    string           // its field manager
	Parents    schema.GroupKind // the parents' kind
	APIVersion string           // of the parents, as the spec has it
	Seals      *seal.Ring
	// Entries are all that the spec has, those of spec.finalize included, and Levels their order: 0 depends on nothing, and none is 0.
	Entries Entries
	Levels  map[string]int
	// Departed are objects of ours that no watch shows any more, or that do not say so any more.
	Departed *Departed
	// Adopting is whether children may lack a seal, as the keys of that round say.
	Adopting bool
	Round    uint32
}

// Adopting reports whether children of a TemplateController may be older than the keys of the seals, which are there since then.
func Adopting(tc *v1.TemplateController, since time.Time) bool {
	if since.IsZero() || !tc.CreationTimestamp.Time.Before(since) {
		return false
	}
	return tc.Status.SealedSince == nil || !tc.Status.SealedSince.Time.Equal(since)
}

// Made reports whether an object with the label of this controller is a child of any of its parents, be they there or not.
func (r *Ownership) Made(o *object.Object, kind schema.GroupKind) bool {
	if owner, has := o.Controller(); has && !r.parental(owner) {
		return false
	}
	return r.genuine(o, kind)
}

// Names reports whether an object with the label of this controller proves that it was made for the parent that it names. Anyone who may
// change a child can have it name another parent, and it is still a child.
func (r *Ownership) Names(o *object.Object, kind schema.GroupKind) bool {
	return r.Made(o, kind) && (r.sealed(o, kind) || r.adopts(o))
}

// Belongs reports whether an object with the labels of this controller and of that parent is its child, whatever name it says.
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

// Ours reports whether any object is a child of that parent: one that has lost its labels is, too.
func (r *Ownership) Ours(o *object.Object, kind schema.GroupKind, parent seal.Parent) bool {
	if owner, has := o.Controller(); has && owner.UID != parent.UID {
		return false
	}
	labelled := o.Label(v1.LabelParentUID) == string(parent.UID)
	if labelled && o.Label(v1.LabelController) == r.Controller && r.genuine(o, kind) {
		return true
	}
	return r.sealedFor(o, kind, parent) || r.Departed.has(r.Controller, parent.UID, o.UID()) || r.adopts(o) && (labelled || ownedBy(o, parent.UID))
}

// MadeForEarlier reports whether we have made the object for an earlier object of the parent's name, which was deleted.
func (r *Ownership) MadeForEarlier(there *object.Object, kind schema.GroupKind, parent *object.Object) bool {
	uid, earlier := r.earlier(there, kind, parent)
	return earlier && !there.Deleting() && r.Ours(there, kind, seal.Parent{UID: uid, Name: parent.Key()})
}

// GoesWith reports whether an object with the label of this controller is deleted with the TemplateController. Its entry may
// have it stay.
func (r *Ownership) GoesWith(l *Live, all Entries) bool {
	return r.Made(l.Object, l.Kind.GroupKind()) && all.Prunes(l) && all.deletionPolicy(l) != v1.DeletionOrphan
}

// Unsealed reports whether a child with the label of this controller, of any of its parents, is still to be sealed.
func (r *Ownership) Unsealed(o *object.Object, kind schema.GroupKind) bool {
	return !o.Deleting() && r.Made(o, kind) && !r.sealed(o, kind)
}

// NoteWritten takes note that an object is ours: it is as we have just written it.
func NoteWritten(after *object.Object) { after.Note(object.Ours | object.OwnWrite) }

// genuine reports whether templater has made an object with the label of this controller for the parent that it says.
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
	case round == r.Round: // else the next sync of the TemplateController may find that the object is to be adopted
		o.Refuse(round)
	}
	return ours
}

// sealed reports whether an object with the label of this controller carries our seal for the parent that it says: its label has
// the UID.
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

// sealedFor reports whether the object carries our seal for that parent, whatever it says itself.
func (r *Ownership) sealedFor(o *object.Object, kind schema.GroupKind, parent seal.Parent) bool {
	_, holds := r.open(o, r.subject(o.Key(), kind, parent))
	return holds
}

// subject is what the seal of an object of ours has to be for.
func (r *Ownership) subject(name types.NamespacedName, kind schema.GroupKind, parent seal.Parent) seal.Subject {
	definition := seal.Definition{Kind: v1.KindTemplateController, Name: types.NamespacedName{Name: r.Controller}}
	parent.Kind = r.Parents
	return seal.Subject{Definition: definition, Parent: parent, Kind: kind, Name: name}
}

// identity is what the seals of a parent's children hold of it.
func identity(parent *object.Object) seal.Parent {
	return seal.Parent{UID: parent.UID(), Name: parent.Key()}
}

// open returns what the seal of an object says, and whether it holds for the subject.
func (r *Ownership) open(o *object.Object, subject seal.Subject) (seal.Note, bool) {
	note, verdict := r.Seals.Open(o.Annotation(v1.AnnotationSeal), subject)
	return note, verdict == seal.Valid
}

// adopts reports whether an object that lacks our seal counts as ours all the same: it was there before the keys that there are, has
// no seal by them, and looks like a child. That ends once all such objects have been sealed.
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
		return r.parental(owner) && (r.applied(o) || o.Label(v1.LabelController) == r.Controller && o.Label(v1.LabelParentUID) == string(owner.UID))
	}
	return r.applied(o) && o.Label(v1.LabelController) == r.Controller
}

// applied reports whether this controller holds fields of the object by Apply, as it does of all that it makes.
func (r *Ownership) applied(o *object.Object) bool { return o.Applied(r.Manager, "") != nil }

// parental reports whether an owner is of the parents' kind, in whatever version.
func (r *Ownership) parental(owner object.Owner) bool {
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() == r.Parents
}

// earlier reports whether an object belongs to one of the parent's name that was there before it, and returns the UID of that.
// Where there is no owner reference, its seal has to prove that: the garbage collector does not take it.
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

// Proven reports whether the seal of a child proves that it was made for the earlier parent of that name that the child says. An
// adopted child proves nothing: in a restored backup its parent exists, with another UID. Nor does a seal of an earlier format, which may
// be of a TemplateController of the same name for another kind of parents.
func (r *Ownership) Proven(l *Live, parent types.NamespacedName) bool {
	uid := l.ParentUID()
	if owner, has := l.Object.Controller(); has {
		uid = owner.UID
	}
	note, holds := r.open(l.Object, r.subject(l.Object.Key(), l.Kind.GroupKind(), seal.Parent{UID: uid, Name: parent}))
	return holds && !note.Old
}

// createdAt returns when the object was made, by the clock of the server, the zero time where that is not known.
func createdAt(o *object.Object) time.Time {
	at, err := time.Parse(time.RFC3339, o.Text("metadata", "creationTimestamp"))
	if err != nil {
		return time.Time{}
	}
	return at
}

// anyVersion is the kind of an object, in whatever version.
func anyVersion(of schema.GroupKind) kind.Kind {
	return kind.Kind{Resource: schema.GroupVersionResource{Group: of.Group}, Kind: of.Kind}
}

func ownedBy(o *object.Object, parent types.UID) bool {
	_, has := o.Owner(parent)
	return has
}

// Departed remembers, by their UIDs, objects that were known to be ours until a watch has ceased to show them, or shows them without the
// proof: one that has lost all that we mark it with is ours still. It has room for some, and holds no text. It is safe for concurrent use.
type Departed struct {
	hashes [departures]atomic.Uint64
}

const departures = 1024

var departedSeed = maphash.MakeSeed()

// Note remembers an object that was ours in its last state, and is not known to be ours in the state that the watch shows now: somebody has
// changed the labels that say whose it is. now is nil for an object that the watch does not show, and last for one that is new.
func (d *Departed) Note(last, now *object.Object) {
	switch {
	case last == nil || !last.Noted(object.Ours):
	case now == nil || now.UID() == last.UID() && !now.Noted(object.Ours):
		d.note(last.Label(v1.LabelController), types.UID(last.Label(v1.LabelParentUID)), last.UID())
	}
}

func (d *Departed) note(controller string, parent, child types.UID) {
	h := departedHash(controller, parent, child)
	d.hashes[h%departures].Store(h)
}

func (d *Departed) has(controller string, parent, child types.UID) bool {
	h := departedHash(controller, parent, child)
	return d.hashes[h%departures].Load() == h
}

// departedHash is never 0. Nobody else knows the seed, and the server chooses UIDs.
func departedHash(controller string, parent, child types.UID) uint64 {
	return maphash.Comparable(departedSeed, [3]string{controller, string(parent), string(child)}) | 1
}
