package child

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Entries are those of spec.children. A child's policies are those of its entry. If the entry was removed, they are those of its seal.
type Entries []v1.Child

// Of returns the entry that decides about a child: the one that desires it, else the one that it was made from. It returns nil if that was
// removed, or if the seal does not prove it.
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

// Have reports whether there is an entry of that name.
func (e Entries) Have(name string) bool {
	return slices.ContainsFunc(e, func(c v1.Child) bool { return c.Name == name })
}

// Prunes reports whether a child is deleted when no template yields it any more, or its parent stops matching.
func (e Entries) Prunes(l *Live) bool { return e.prunePolicy(l) != v1.PruneOrphan }

// PrunesUnmatched reports whether a child is deleted when its parent, the one with that UID, stops matching.
func (e Entries) PrunesUnmatched(l *Live, parent types.UID) bool {
	return e.Prunes(l) && l.MadeFor(parent)
}

// The policies are those of the entry as long as there is one. Of a child without an entry, the seal proves them. If it does not, the child
// is kept: removing the seal, restoring an earlier one or changing the label deletes nothing.
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

// sealed are the policies that the seal of a child proves.
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

// open returns what the seal of a child says, and whether it holds for the parent that the child names, or whose child it is known to be.
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

// provenEntry returns the entry that a child was made from, as its seal proves, or "". A seal of format 1 proves that, too.
func (l *Live) provenEntry() string {
	if l.Object.Noted(object.Restored) {
		return ""
	}
	note, _ := l.open(l.Object)
	return note.Entry
}

// Outlives reports whether the child is to outlive its parent. If an owner reference binds it, only its seal can say so; one in its parent's
// scope that has none outlives it. Else the seal or the entry says so: an earlier seal may have been restored while no templater ran. Of a
// child that is being deleted, the entry is not asked: what templater has begun to delete is waited for.
func (l *Live) Outlives() bool {
	note, proven := l.says()
	sealed := proven && note.Policies.DeletionOrphan
	_, owned := l.Object.Controller()
	switch {
	case owned, sealed, proven && l.Object.Deleting():
		return sealed
	case !l.Object.CrossScope(), l.rule == nil:
		return true
	}
	return l.rule.Entries.deletionPolicy(l) == v1.DeletionOrphan
}

// OfAnother reports whether the child belongs to another parent than the one with that UID, and is deleted with that one.
func (l *Live) OfAnother(parent types.UID) bool {
	if owner, owned := l.Object.Controller(); owned {
		return owner.UID != parent
	}
	return !l.MadeFor(parent) && !l.Outlives()
}

// Collectable reports whether the child is to be deleted once its parent is deleted: another owner may still need it.
func (l *Live) Collectable() bool {
	if l.Object.CrossScope() {
		return l.Object.Owners() == 0 && !l.Outlives()
	}
	return l.Object.Owners() == 1 && !l.Outlives()
}

// Level is that of the child among the entries of spec.children when it was last marked, as its seal says. A seal of format 1 leaves that to
// the entry. A child without a proven seal is of level 0, which is deleted last.
func (l *Live) Level() int {
	if note, ok := l.says(); ok {
		return note.Policies.Order
	}
	if l.rule == nil {
		return 0
	}
	return l.rule.Levels[l.MadeFrom]
}

// MadeFor reports whether the child was made for the parent with that UID.
func (l *Live) MadeFor(parent types.UID) bool { return l.ParentUID() == parent }

// ParentUID is that of the parent that the child was made for.
func (l *Live) ParentUID() types.UID { return types.UID(l.Object.Label(v1.LabelParentUID)) }

// Roll reports whether any template changes a few objects at a time.
func (e Entries) Roll() bool {
	for i := range e {
		if spec.Rolls(&e[i]) {
			return true
		}
	}
	return false
}
