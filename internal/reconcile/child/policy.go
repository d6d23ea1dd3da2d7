package child

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Entries are the child templates of a spec. The policies of a child are those of its child template or, if that was removed, those in its seal.
type Entries []v1.Child

// Of returns the child template that decides about a child: the one that renders it, or else the one that it was created from. It returns nil if
// that was removed, or if the seal does not prove it.
func (e Entries) Of(l *Live) *v1.Child {
	if l.Wanted != nil {
		return l.Wanted.Entry
	}
	i := slices.IndexFunc(e, func(c v1.Child) bool { return c.Name == l.MadeFrom })
	if i < 0 {
		return nil
	}
	return &e[i]
}

// Have reports whether there is a child template of that name.
func (e Entries) Have(name string) bool {
	return slices.ContainsFunc(e, func(c v1.Child) bool { return c.Name == name })
}

// Prunes reports whether a child is deleted when no template renders it anymore, or its parent stops matching.
func (e Entries) Prunes(l *Live) bool { return e.prunePolicy(l) != v1.PruneOrphan }

// PrunesUnmatched reports whether a child is deleted when its parent, given by its UID, stops matching.
func (e Entries) PrunesUnmatched(l *Live, parent types.UID) bool {
	return e.Prunes(l) && l.MadeFor(parent)
}

// The policies are those of the child template while it exists, or else those in the seal. If the seal proves nothing, the child is kept:
// removing the seal, restoring an earlier one or changing the label deletes nothing.
func (e Entries) prunePolicy(l *Live) v1.PrunePolicy {
	if c := e.Of(l); c != nil {
		return c.PrunePolicy
	}
	if l.sealed().PruneOrphan {
		return v1.PruneOrphan
	}
	return v1.PruneDelete
}

func (e Entries) deletionPolicy(l *Live) v1.DeletionPolicy {
	if c := e.Of(l); c != nil {
		return c.DeletionPolicy
	}
	if l.sealed().DeletionOrphan {
		return v1.DeletionOrphan
	}
	return v1.DeletionDelete
}

// sealed returns the policies in the seal of a child, or those that keep it if the seal proves nothing.
func (l *Live) sealed() seal.Policies {
	if note, ok := l.says(); ok {
		return note.Policies
	}
	return seal.Keep
}

// says returns what the seal of a child proves.
func (l *Live) says() (seal.Note, bool) {
	if l.rule == nil {
		return seal.Note{}, false
	}
	return proven(l.Object, l.open)
}

// open returns the content of a child's seal, and whether it is valid for the parent that the child names, or for the known parent.
func (l *Live) open(o *object.Object) (seal.Note, bool) {
	kind := l.Kind.GroupKind()
	if l.rule.sealed(o, kind) {
		return seal.Read(o.Annotation(v1.AnnotationSeal)), true
	}
	if l.parent == nil {
		return seal.Note{}, false
	}
	return l.rule.open(o, l.rule.subject(o.Key(), kind, identity(l.parent)))
}

// provenEntry returns the child template that a child was created from, according to its seal, or "". This works with seals of format 1, too.
func (l *Live) provenEntry() string {
	if l.Object.Noted(object.Restored) {
		return ""
	}
	note, _ := l.open(l.Object)
	return note.Entry
}

// Outlives reports whether the child is orphaned when its parent is deleted. With an owner reference, only the seal decides. Without one, a
// child in its parent's scope is always orphaned. For other children, the seal or the child template decides, because an earlier seal may have
// been restored while templater was not running. For a terminating child, the child template is ignored: a deletion that templater has started
// is awaited.
func (l *Live) Outlives() bool {
	note, proven := l.says()
	sealed := note.Policies.DeletionOrphan // false unless proven
	_, owned := l.Object.Controller()
	switch {
	case owned, sealed, proven && l.Object.Deleting():
		return sealed
	case !l.Object.CrossScope(), l.rule == nil:
		return true
	}
	return l.rule.Entries.deletionPolicy(l) == v1.DeletionOrphan
}

// OfAnother reports whether the child belongs to another parent than the one with that UID, and is deleted with that other parent.
func (l *Live) OfAnother(parent types.UID) bool {
	if owner, owned := l.Object.Controller(); owned {
		return owner.UID != parent
	}
	return !l.MadeFor(parent) && !l.Outlives()
}

// Collectable reports whether the child must be deleted with its parent. It is false if the child has other owners.
func (l *Live) Collectable() bool {
	if l.Object.CrossScope() {
		return l.Object.Owners() == 0 && !l.Outlives()
	}
	return l.Object.Owners() == 1 && !l.Outlives()
}

// Level is the deletion level of the child, as recorded in its seal. For a seal of format 1, it is the level of the child template. A child
// without a valid seal has level 0, which is deleted last.
func (l *Live) Level() int {
	if note, ok := l.says(); ok {
		return note.Policies.Order
	}
	if l.rule == nil {
		return 0
	}
	return l.rule.Levels[l.MadeFrom]
}

// MadeFor reports whether the child was created for the parent with that UID.
func (l *Live) MadeFor(parent types.UID) bool { return l.ParentUID() == parent }

// ParentUID returns the UID of the parent that the child was created for.
func (l *Live) ParentUID() types.UID { return types.UID(l.Object.Label(v1.LabelParentUID)) }

// Roll reports whether any child template uses rolling updates.
func (e Entries) Roll() bool {
	for i := range e {
		if spec.Rolls(&e[i]) {
			return true
		}
	}
	return false
}
