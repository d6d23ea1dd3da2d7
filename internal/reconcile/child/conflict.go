package child

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// InTheWay says why an object cannot be taken for the child of that name, or nil when it is ours.
func (r *Ownership) InTheWay(there *object.Object, child *Wanted, parent *object.Object) *problem.Problem {
	switch _, earlier := r.earlier(there, child.Kind.GroupKind(), parent); {
	case there.Deleting():
		return &problem.Problem{Reason: v1.ReasonProgressing, Message: child.ID().String() + " is being deleted; it is recreated after that", Waiting: true, Retry: problem.RetrySoon}
	case r.Ours(there, child.Kind.GroupKind(), identity(parent)):
		return nil
	case earlier:
		return &problem.Problem{Reason: v1.ReasonProgressing, Message: child.ID().String() + " belongs to an earlier parent of the same name; it is recreated once garbage collection has deleted it", Waiting: true, Retry: problem.RetrySoon}
	}
	conflict := problem.Newf(v1.ReasonChildConflict, "%s already exists and %s", child.ID(), r.conflict(there, child.Kind.GroupKind(), parent))
	conflict.Retry = problem.RetrySlower
	return conflict
}

// conflict returns a message that says who owns the conflicting object, and what to do.
func (r *Ownership) conflict(there *object.Object, kind schema.GroupKind, parent *object.Object) string {
	const remedy = "delete it, or choose another name in the template"
	if !r.alike(there, parent) {
		return r.whose(there) + ": templater does not adopt it; " + remedy
	}
	_, verdict := r.Seals.Open(there.Annotation(v1.AnnotationSeal), r.subject(there.Key(), kind, identity(parent)))
	switch verdict {
	case seal.None:
		return "is labelled as a child of this object, but has no seal (annotation templater.dev/seal): another client created it or removed the seal; inspect it, then " + remedy + restore
	case seal.Foreign:
		return "is labelled as a child of this object, but its seal was made with a key that templater does not have; restore that key, or inspect the object, then " + remedy + restore
	case seal.Broken, seal.Valid:
	}
	return "is labelled as a child of this object, but its seal is not valid for it: another client copied or changed it; inspect it, then " + remedy + restore
}

// restore names the page with the remedy that keeps the object.
const restore = "; to keep the object, see docs/operate/operations.md"

// alike reports whether an object that is not ours says that it is the parent's child.
func (r *Ownership) alike(there, parent *object.Object) bool {
	owner, has := there.Controller()
	return (!has || owner.UID == parent.UID()) && there.Label(v1.LabelController) == r.Controller && there.Label(v1.LabelParentUID) == string(parent.UID())
}

// whose says in messages whose an object is that is not ours.
func (r *Ownership) whose(there *object.Object) string {
	owner, has := there.Controller()
	name := problem.PublicKind(owner.Kind) + " " + problem.PublicName(owner.Name)
	if owner.Kind == r.Parents.Kind && !r.parental(owner) {
		name += " of " + problem.PublicVersion(owner.APIVersion) // which looks like the parent's kind
	}
	other := there.Label(v1.LabelController) // the server checks labels
	switch {
	case has && other != "":
		return "belongs to TemplateController " + other + " for " + name
	case has:
		return "belongs to " + name
	case other != "" && there.CrossScope(): // readers of this parent may not be allowed to see the other one
		return "belongs to TemplateController " + other + " for another parent, named in its annotation " + v1.AnnotationParent
	case other == r.Controller && there.Label(v1.LabelParentUID) != "": // it is not alike, so the label is another parent's
		return "belongs to TemplateController " + other + " for another parent, which may no longer exist: its label " + v1.LabelParentUID + " holds the UID"
	case other != "":
		return "belongs to TemplateController " + other
	}
	return "has no owner"
}

// JustDeleted is the problem that a conflicting object has been deleted a moment ago.
func (w *Wanted) JustDeleted() *problem.Problem {
	return &problem.Problem{Reason: v1.ReasonProgressing, Message: w.ID().String() + " was just deleted", Waiting: true, Retry: problem.RetryNow}
}

// BeingReplaced is the problem that the object is deleted to be created anew.
func (w *Wanted) BeingReplaced() *problem.Problem {
	return &problem.Problem{Reason: v1.ReasonProgressing, Message: w.ID().String() + " is being replaced", Waiting: true, Retry: problem.RetrySoon}
}
