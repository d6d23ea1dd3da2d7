package reconcile

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/seal"
)

// Whose an object is: all that decides about it is here. Labels, owner references and field managers say nothing, for
// anybody may write them. An object is ours when it carries our seal, or did so when this process first saw it.

// subject is what the seal of an object of ours has to be for.
func (c *controller) subject(o *object.Object, kind schema.GroupKind, parent types.UID) seal.Subject {
	return seal.Subject{Controller: c.name, Parent: parent, Kind: kind, Name: o.Key()}
}

// genuine reports whether templater has made an object with the label of this controller for the parent that its label names.
func (c *controller) genuine(o *object.Object, kind schema.GroupKind) bool {
	if o.Noted(object.Ours) {
		return true
	}
	round := c.seals.Round()
	if o.Refused(round) {
		return false
	}
	ours := c.sealed(o, kind) || c.adopts(o)
	switch {
	case ours:
		o.Note(object.Ours)
	case round == c.keys: // else the next look at the TemplateController may find that the object is to be adopted
		o.Refuse(round)
	}
	return ours
}

// sealed reports whether an object with the label of this controller carries our seal for the parent that its label names.
func (c *controller) sealed(o *object.Object, kind schema.GroupKind) bool {
	if o.Noted(object.Sealed) {
		return true
	}
	holds := c.sealedFor(o, kind, types.UID(o.Label(v1.LabelParentUID)))
	if holds {
		o.Note(object.Sealed)
	}
	return holds
}

// applied reports whether this controller holds fields of the object by Apply, as it does of all that it makes.
func (c *controller) applied(o *object.Object) bool { return o.Applied(c.manager, "") != nil }

// adopts reports whether an object that lacks our seal counts as ours all the same: it was there before the keys that there are, has
// no seal by them, and looks like a child. That ends once all such objects have been sealed.
func (c *controller) adopts(o *object.Object) bool {
	if !c.adopting {
		return false
	}
	if _, verdict := c.seals.Open(o.Annotation(v1.AnnotationSeal), seal.Subject{}); verdict == seal.Broken {
		return false
	}
	if made := createdAt(o); made.IsZero() || !made.Before(c.seals.Since()) {
		return false
	}
	if owner, has := o.Controller(); has {
		return c.parental(owner) && (c.applied(o) || o.Label(v1.LabelController) == c.name && o.Label(v1.LabelParentUID) == string(owner.UID))
	}
	return c.applied(o) && o.Label(v1.LabelController) == c.name
}

// made reports whether an object with the label of this controller is a child of any of its parents, be they there or not.
func (c *controller) made(o *object.Object, kind schema.GroupKind) bool {
	if owner, has := o.Controller(); has && !c.parental(owner) {
		return false
	}
	return c.genuine(o, kind)
}

// belongs reports whether an object with the labels of this controller and of the parent with that UID is its child.
func (c *controller) belongs(o *object.Object, kind schema.GroupKind, parent types.UID) bool {
	if owner, has := o.Controller(); has && owner.UID != parent {
		return false
	}
	return c.genuine(o, kind)
}

// ours reports whether any object is a child of the parent with that UID: one that has lost its labels is, too.
func (c *controller) ours(o *object.Object, kind schema.GroupKind, parent types.UID) bool {
	if owner, has := o.Controller(); has && owner.UID != parent {
		return false
	}
	if o.Label(v1.LabelController) == c.name && o.Label(v1.LabelParentUID) == string(parent) {
		return c.genuine(o, kind)
	}
	return c.sealedFor(o, kind, parent) || c.departed.has(c.name, parent, o.UID()) || c.adopts(o) && (o.Label(v1.LabelParentUID) == string(parent) || ownedBy(o, parent))
}

// sealedFor reports whether the object carries our seal for the parent with that UID, whatever its labels say.
func (c *controller) sealedFor(o *object.Object, kind schema.GroupKind, parent types.UID) bool {
	_, holds := openSeal(c.seals, o, c.subject(o, kind, parent))
	return holds
}

// openSeal returns what the seal of an object says, and whether it holds for the subject.
func openSeal(seals *seal.Ring, o *object.Object, subject seal.Subject) (seal.Note, bool) {
	note, verdict := seals.Open(o.Annotation(v1.AnnotationSeal), subject)
	return note, verdict == seal.Valid && !older(note, o)
}

// older reports whether a seal is older than the object that carries it: somebody has deleted ours, and made another one of
// its name with all that it had.
func older(note seal.Note, o *object.Object) bool {
	return createdAt(o).Sub(note.Applied) > seal.Tolerance
}

// createdAt returns when the object was made, by the clock of the server, the zero time where that is not known.
func createdAt(o *object.Object) time.Time {
	at, err := time.Parse(time.RFC3339, o.Text("metadata", "creationTimestamp"))
	if err != nil {
		return time.Time{}
	}
	return at
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func ownedBy(o *object.Object, parent types.UID) bool {
	_, has := o.Owner(parent)
	return has
}

// goes reports whether an object with the label of this controller is deleted with the TemplateController. Its entry may
// have it stay.
func (c *controller) goes(l *live) bool {
	all := entries(c.spec.Children)
	return c.made(l.object, l.kind.GroupKind()) && all.prunePolicy(l) != v1.PruneOrphan && all.deletionPolicy(l) != v1.DeletionOrphan
}

// parental reports whether an owner is of the parents' kind, in whatever version.
func (c *controller) parental(owner object.Owner) bool {
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() == c.gvk.GroupKind()
}

// earlier reports whether an owner is an object of the parent's name that was there before it.
func (p *pass) earlier(owner object.Owner) bool {
	return p.parental(owner) && owner.Name == p.parent.Name() && owner.UID != p.parent.UID()
}

// bereft reports whether we have made the object for an earlier object of the parent's name.
func (p *pass) bereft(there *object.Object, kind schema.GroupKind) bool {
	owner, _ := there.Controller()
	return p.earlier(owner) && !there.Deleting() && p.ours(there, kind, owner.UID)
}

// conflict says in messages whose an object is that is in the way, and what to do.
func (p *pass) conflict(there *object.Object, kind schema.GroupKind) string {
	const remedy = "delete it, or choose another name in the template"
	if !p.alike(there) {
		return p.whose(there) + ": templater does not take it; " + remedy
	}
	_, verdict := p.seals.Open(there.Annotation(v1.AnnotationSeal), p.subject(there, kind, p.parent.UID()))
	switch verdict {
	case seal.None:
		return "looks like a child of this object, but has no seal of templater's: somebody else has made it, or has taken the seal away; look at it, then " + remedy + restore
	case seal.Foreign:
		return "looks like a child of this object, but its seal is by a key that templater does not have; put that key back, or look at the object, then " + remedy + restore
	case seal.Broken, seal.Valid:
	}
	return "looks like a child of this object, but its seal is not for it: somebody has copied or changed it; look at it, then " + remedy + restore
}

// restore is where the remedy is told that keeps the object.
const restore = "; docs/operations.md says how to keep it"

// alike reports whether an object that is not ours says that it is the parent's child.
func (p *pass) alike(there *object.Object) bool {
	owner, has := there.Controller()
	return (!has || owner.UID == p.parent.UID()) && there.Label(v1.LabelController) == p.name && there.Label(v1.LabelParentUID) == string(p.parent.UID())
}

// whose says in messages whose an object is that is not ours.
func (p *pass) whose(there *object.Object) string {
	owner, has := there.Controller()
	name := problem.PublicKind(owner.Kind) + " " + problem.PublicName(owner.Name)
	if owner.Kind == p.gvk.Kind && !p.parental(owner) {
		name += " of " + problem.PublicVersion(owner.APIVersion) // which looks like the parent's kind
	}
	other := there.Label(v1.LabelController) // the server checks labels
	switch {
	case has && other != "":
		return "belongs to TemplateController " + other + " for " + name
	case has:
		return "belongs to " + name
	case other != "":
		return "belongs to TemplateController " + other
	}
	return "belongs to nobody"
}

// outlives reports whether the child is to outlive its parent.
func (l *live) outlives() bool {
	_, owned := l.object.Controller()
	return !owned
}

// stray reports whether the child belongs to another parent than the one with that UID.
func (l *live) stray(parent types.UID) bool {
	owner, owned := l.object.Controller()
	return owned && owner.UID != parent
}

// madeFor reports whether the child was made for the parent with that UID.
func (l *live) madeFor(parent types.UID) bool {
	return l.object.Label(v1.LabelParentUID) == string(parent)
}

// entries are those of spec.children. A child's policies are those of its entry; one whose entry is gone carries its own.
type entries []v1.Child

// of returns the entry that a child belongs to, or nil when it is gone: the one that wants it, else the one that it was
// made from.
func (e entries) of(l *live) *v1.Child {
	if l.wanted != nil {
		return l.wanted.child
	}
	i := slices.IndexFunc(e, func(c v1.Child) bool { return c.Name == l.from })
	if i < 0 {
		return nil
	}
	return &e[i]
}

func (e entries) prunePolicy(l *live) v1.PrunePolicy {
	if c := e.of(l); c != nil {
		return c.PrunePolicy
	}
	return v1.PrunePolicy(l.object.Annotation(v1.AnnotationPrune))
}

func (e entries) deletionPolicy(l *live) v1.DeletionPolicy {
	if c := e.of(l); c != nil {
		return c.DeletionPolicy
	}
	if l.object.Annotation(v1.AnnotationParent) != "" {
		return v1.DeletionOrphan
	}
	return v1.DeletionDelete
}
