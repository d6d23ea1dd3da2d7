package child

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// InTheWay returns why an existing object conflicts with a child, or nil if the object is already the parent's child.
func (r *Ownership) InTheWay(there *object.Object, child *Wanted, parent *object.Object) *problem.Problem {
	switch _, earlier := r.earlier(there, child.Kind.GroupKind(), parent); {
	case there.Deleting():
		return &problem.Problem{Reason: v1.ReasonProgressing, Message: child.ID().String() + " is being deleted, and will be recreated", Waiting: true, Retry: problem.RetrySoon}
	case r.Ours(there, child.Kind.GroupKind(), identity(parent)):
		return nil
	case earlier:
		return &problem.Problem{Reason: v1.ReasonProgressing, Message: child.ID().String() + " belongs to an earlier parent of the same name; it will be recreated once garbage collection has deleted it", Waiting: true, Retry: problem.RetrySoon}
	}
	if child.adoptable(there) {
		if there.Annotation(v1.AnnotationAdopt) == r.consent(parent) {
			return nil
		}
		conflict := problem.Newf(v1.ReasonChildConflict, "%s already exists and has no owner; to give it to this object, which then deletes it by the rules for children: %s; otherwise "+remedy, child.ID(), r.consentCommand(child, parent))
		conflict.Retry = problem.RetrySlower
		return conflict
	}
	conflict := problem.Newf(v1.ReasonChildConflict, "%s already exists and %s", child.ID(), r.conflict(there, child.Kind.GroupKind(), parent))
	conflict.Retry = problem.RetrySlower
	return conflict
}

// remedy ends messages about conflicts.
const remedy = "delete it, or choose another name in the template"

// adoptable reports whether an existing object may be adopted with the consent of its owner: it belongs neither to a controller nor to another
// TemplateController.
func (w *Wanted) adoptable(there *object.Object) bool {
	_, owned := there.Controller()
	return w.Entry.Adoption == v1.AdoptionIfConsented && !owned && there.ControllerKey() == ""
}

// consent returns the value of the annotation that lets the parent adopt an object.
func (r *Ownership) consent(parent *object.Object) string {
	_, name := v1.SplitKey(r.Controller)
	return v1.KindOf(r.Controller) + "/" + name + "/" + string(parent.UID())
}

// consentCommand returns the command that lets the parent adopt an object.
func (r *Ownership) consentCommand(w *Wanted, parent *object.Object) string {
	namespace := ""
	if w.Name.Namespace != "" {
		namespace = " -n " + problem.PublicName(w.Name.Namespace)
	}
	return "kubectl annotate " + w.Kind.Resource.GroupResource().String() + " " + problem.PublicNameIn(w.Kind.Resource.Group, w.Name.Name) + namespace + " " + v1.AnnotationAdopt + "=" + r.consent(parent)
}

// conflict returns a message that says who owns the conflicting object, and how to resolve the conflict.
func (r *Ownership) conflict(there *object.Object, kind schema.GroupKind, parent *object.Object) string {
	if !r.alike(there, parent) {
		return r.whose(there) + ": templater does not adopt it; " + remedy
	}
	_, verdict := r.Seals.Open(there.Annotation(v1.AnnotationSeal), r.subject(there.Key(), kind, identity(parent)))
	switch verdict {
	case seal.None:
		return "is labeled as a child of this object, but has no seal (annotation templater.dev/seal): another client created it or removed the seal; inspect it, then " + remedy + restore
	case seal.Foreign:
		return "is labeled as a child of this object, but its seal was made with a key that templater does not have; restore that key, or inspect the object, then " + remedy + restore
	case seal.Broken, seal.Valid:
	}
	return "is labeled as a child of this object, but its seal is invalid: another client copied or modified the object; inspect it, then " + remedy + restore
}

// restore refers to the page that explains how to keep the object.
const restore = "; to keep the object, see docs/operate/seals.md"

// alike reports whether an object that templater does not own claims to be a child of the parent.
func (r *Ownership) alike(there, parent *object.Object) bool {
	owner, has := there.Controller()
	return (!has || owner.UID == parent.UID()) && there.HasController(r.Controller) && there.Label(v1.LabelParentUID) == string(parent.UID())
}

// whose returns text for a message about the owner of an object that templater does not own for this parent.
func (r *Ownership) whose(there *object.Object) string {
	owner, has := there.Controller()
	name := problem.PublicKind(owner.Kind) + " " + problem.PublicName(owner.Name)
	if owner.Kind == r.Parents.Kind && !r.parental(owner) {
		name += " of " + problem.PublicVersion(owner.APIVersion) // whose kind has the same name as the parent's kind
	}
	other := there.ControllerKey() // the API server validates labels
	switch {
	case has && other != "":
		return "belongs to " + v1.Describe(other) + " for " + name
	case has:
		return "belongs to " + name
	case other != "" && there.CrossScope(): // readers of this parent may not be allowed to see the other parent
		return "belongs to " + v1.Describe(other) + " for another parent, named in its annotation " + v1.AnnotationParent
	case other == r.Controller && there.Label(v1.LabelParentUID) != "": // the object is not alike, so the label has the UID of another parent
		return "belongs to " + v1.Describe(other) + " for another parent, which may no longer exist: its label " + v1.LabelParentUID + " contains the UID"
	case other != "":
		return "belongs to " + v1.Describe(other)
	}
	return "has no owner"
}

// JustDeleted returns the problem for a conflicting object that was just deleted.
func (w *Wanted) JustDeleted() *problem.Problem {
	return &problem.Problem{Reason: v1.ReasonProgressing, Message: w.ID().String() + " was just deleted", Waiting: true, Retry: problem.RetryNow}
}

// BeingReplaced returns the problem for an object that is being deleted and will be recreated.
func (w *Wanted) BeingReplaced() *problem.Problem {
	return &problem.Problem{Reason: v1.ReasonProgressing, Message: w.ID().String() + " is being replaced", Waiting: true, Retry: problem.RetrySoon}
}
