package reconcile

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
)

// Whose an object is: all that decides about it is here. Labels alone say nothing: anybody may copy them, as a
// Service does to its Endpoints. What counts besides is the controller of an object, and whether we
// hold fields of it.

// applied reports whether this controller holds fields of the object by Apply, as it does of all that it makes.
func (c *controller) applied(o *object.Object) bool { return o.Applied(c.manager, "") != nil }

// made reports whether an object with the label of this controller is a child of any of its parents, be they there or not.
func (c *controller) made(o *object.Object) bool {
	if owner, has := o.Controller(); has {
		return c.parental(owner)
	}
	return c.applied(o)
}

// belongs reports whether an object with the labels of this controller and of the parent with that UID is its child.
func (c *controller) belongs(o *object.Object, parent types.UID) bool {
	if owner, has := o.Controller(); has {
		return owner.UID == parent
	}
	return c.applied(o)
}

// ours reports whether any object is a child of the parent with that UID: one that has lost its labels is, too, as
// long as it is the parent's and we hold fields of it.
func (c *controller) ours(o *object.Object, parent types.UID) bool {
	marked := o.Label(v1.LabelController) == c.name && o.Label(v1.LabelParentUID) == string(parent)
	if owner, has := o.Controller(); has {
		return owner.UID == parent && (marked || c.applied(o))
	}
	return marked && c.applied(o)
}

// goes reports whether an object with the label of this controller is deleted with the TemplateController. We
// must hold fields of it: a parent may have objects of its own that carry our labels. Its entry may have it stay.
func (c *controller) goes(l *live) bool {
	all := entries(c.spec.Children)
	return c.made(l.object) && c.applied(l.object) && all.prunePolicy(l) != v1.PruneRetain && all.deletionPolicy(l) != v1.DeletionOrphan
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
func (p *pass) bereft(there *object.Object) bool {
	owner, _ := there.Controller()
	return p.earlier(owner) && !there.Deleting() && p.applied(there)
}

// whose says in messages whose an object is that is not ours.
func (p *pass) whose(there *object.Object) string {
	owner, has := there.Controller()
	name := publicKind(owner.Kind) + " " + publicName(owner.Name)
	if owner.Kind == p.gvk.Kind && !p.parental(owner) {
		name += " of " + publicVersion(owner.APIVersion) // which looks like the parent's kind
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
	name := l.object.Label(v1.LabelChild)
	i := slices.IndexFunc(e, func(c v1.Child) bool { return c.Name == name })
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
