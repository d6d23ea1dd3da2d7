package child

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/seal"
)

// Entries are those of spec.children. A child's policies are those of its entry; one whose entry is gone carries its own.
type Entries []v1.Child

// Of returns the entry that a child belongs to, or nil when it is gone: the one that wants it, else the one that it was
// made from.
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

// Prunes reports whether a child goes when nobody wants it any more, or its parent does not match any more.
func (e Entries) Prunes(l *Live) bool { return e.prunePolicy(l) != v1.PruneOrphan }

// PrunesUnmatched reports whether a child goes when its parent, the one with that UID, does not match any more.
func (e Entries) PrunesUnmatched(l *Live, parent types.UID) bool {
	return e.Prunes(l) && l.MadeFor(parent)
}

// The policies are those of the entry as long as there is one. Of a child without an entry, the seal proves them; where it does not, the
// child is kept: whoever takes the seal away, or puts an earlier one back, deletes nothing.
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

// says returns what the seal of a child proves, for the parent that the child names.
func (l *Live) says() (seal.Note, bool) {
	if l.rule == nil {
		return seal.Note{}, false
	}
	return proven(l.Object, func(o *object.Object) (seal.Note, bool) {
		if !l.rule.sealed(o, l.Kind.GroupKind()) {
			return seal.Note{}, false
		}
		return seal.Read(o.Annotation(v1.AnnotationSeal)), true
	})
}

// Outlives reports whether the child is to outlive its parent: as its seal says, or, where that proves nothing, as its entry does. A
// child that owner references alone could bind to its parent, and do not, outlives it in any case.
func (l *Live) Outlives() bool {
	_, owned := l.Object.Controller()
	if !owned && !l.Object.CrossScope() {
		return true
	}
	if note, ok := l.says(); ok {
		return note.Policies.DeletionOrphan
	}
	if owned || l.rule == nil {
		return !owned
	}
	return l.rule.Entries.deletionPolicy(l) == v1.DeletionOrphan
}

// OfAnother reports whether the child belongs to another parent than the one with that UID, and goes with that.
func (l *Live) OfAnother(parent types.UID) bool {
	if owner, owned := l.Object.Controller(); owned {
		return owner.UID != parent
	}
	return !l.Outlives() && !l.MadeFor(parent)
}

// Collectable reports whether the child is of no use once its parent is gone: another owner may still need it.
func (l *Live) Collectable() bool {
	if l.Object.CrossScope() {
		return l.Object.Owners() == 0 && !l.Outlives()
	}
	return l.Object.Owners() == 1 && !l.Outlives()
}

// Level is that of the child among the entries of spec.children: as its seal says, which is how it was when it was last marked, or, where
// that proves nothing, as it is now.
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
