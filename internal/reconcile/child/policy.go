package child

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
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

func (e Entries) prunePolicy(l *Live) v1.PrunePolicy {
	if c := e.Of(l); c != nil {
		return c.PrunePolicy
	}
	return v1.PrunePolicy(l.Object.Annotation(v1.AnnotationPrune))
}

func (e Entries) deletionPolicy(l *Live) v1.DeletionPolicy {
	if c := e.Of(l); c != nil {
		return c.DeletionPolicy
	}
	if l.Object.Annotation(v1.AnnotationParent) != "" && (!l.Object.CrossScope() || l.Outlives()) {
		return v1.DeletionOrphan
	}
	return v1.DeletionDelete
}

// Outlives reports whether the child is to outlive its parent, as the child says itself.
func (l *Live) Outlives() bool { return outlives(l.Object) }

func outlives(o *object.Object) bool {
	if o.CrossScope() {
		return o.Annotation(v1.AnnotationDeletion) == string(v1.DeletionOrphan)
	}
	_, owned := o.Controller()
	return !owned
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

// Level is that of the child among the entries of spec.children, as it was when it was last marked.
func (l *Live) Level() int {
	level, err := strconv.Atoi(l.Object.Annotation(v1.AnnotationOrder))
	if err != nil {
		return 0
	}
	return level
}

// MadeFor reports whether the child was made for the parent with that UID.
func (l *Live) MadeFor(parent types.UID) bool { return l.ParentUID() == parent }

// ParentUID is that of the parent that the child was made for.
func (l *Live) ParentUID() types.UID { return types.UID(l.Object.Label(v1.LabelParentUID)) }
