package watch

import (
	"hash/maphash"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/object"
)

// Children returns the children that carry the controller's label and that of the parent
// with that UID, in no order.
func (c *Cache) Children(controller string, parent types.UID) []*object.Object {
	return c.find(byParent, hashOf(controller, string(parent)), func(o *object.Object) bool {
		return o.Label(v1.LabelController) == controller && o.Label(v1.LabelParentUID) == string(parent)
	})
}

// ChildrenNamed returns the children that carry the controller's label and were made
// for a parent of that name, whatever its UID. They are in the parent's namespace, or,
// where it has none or they say so, in any.
func (c *Cache) ChildrenNamed(controller string, parent types.NamespacedName) []*object.Object {
	return c.find(byName, hashOf(controller, parent.Name), func(o *object.Object) bool {
		namespace, name := o.ParentName()
		return (parent.Namespace == "" || namespace == parent.Namespace) &&
			o.Label(v1.LabelController) == controller && name == parent.Name
	})
}

// Definitions returns the definitions of a kind, in no order. There is more than one while they
// fight for the name.
func (c *Cache) Definitions(of schema.GroupKind) []*object.Object {
	return c.find(byParent, hashOf(of.Group, of.Kind), func(o *object.Object) bool { return kind.Defined(o) == of })
}

// EverDefined reports whether there has ever been a definition of a kind, as far as this Cache has seen.
func (c *Cache) EverDefined(of schema.GroupKind) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.defined[of]
}

// EachChild calls f for every child that carries the controller's label, in no order. f
// must not call the cache.
func (c *Cache) EachChild(controller string, f func(*object.Object)) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for it := c.index.heads[byController][hashOf(controller, "")]; it != nil; it = it.links[byController].next {
		if it.object.Label(v1.LabelController) == controller {
			f(it.object)
		}
	}
}

func (c *Cache) find(by int, hash uint64, keep func(*object.Object) bool) []*object.Object {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []*object.Object
	for it := c.index.heads[by][hash]; it != nil; it = it.links[by].next {
		if keep(it.object) {
			out = append(out, it.object)
		}
	}
	return out
}

// The indexes of a Cache. Definitions are filed by kind, in the first.
const (
	byParent = iota
	byName
	byController
	indexes
)

// link joins the items with one hash.
type link struct{ previous, next *item }

// index files items under hashes, in chains: it is made of links within the items, so
// that it takes little room. It is guarded by its Cache.
type index struct {
	hashes func(*object.Object) [indexes]uint64 // 0 = not filed there
	heads  [indexes]map[uint64]*item
}

func newIndex(role Role) index {
	x := index{hashes: func(*object.Object) [indexes]uint64 { return [indexes]uint64{} }}
	switch role {
	case Child:
		x.hashes = childHashes
	case Definition:
		x.hashes = definitionHashes
	case Parent, Related, Namespace, Controller, Seal, Webhook:
	}
	for by := range x.heads {
		x.heads[by] = map[uint64]*item{}
	}
	return x
}

func (x *index) add(it *item) { x.link(it, x.hashes(it.object)) }

func (x *index) link(it *item, hashes [indexes]uint64) {
	for by, hash := range hashes {
		if hash == 0 {
			continue
		}
		head := x.heads[by][hash]
		it.links[by] = link{next: head}
		if head != nil {
			head.links[by].previous = it
		}
		x.heads[by][hash] = it
	}
}

func (x *index) remove(it *item) { x.unlinkAll(it, x.hashes(it.object)) }

func (x *index) unlinkAll(it *item, hashes [indexes]uint64) {
	for by, hash := range hashes {
		if hash != 0 {
			x.unlink(by, hash, it)
		}
	}
}

func (x *index) unlink(by int, hash uint64, it *item) {
	l := it.links[by]
	it.links[by] = link{}
	if l.next != nil {
		l.next.links[by].previous = l.previous
	}
	switch {
	case l.previous != nil:
		l.previous.links[by].next = l.next
	case l.next != nil:
		x.heads[by][hash] = l.next
	default:
		delete(x.heads[by], hash)
	}
}

// replace puts another state of the object into the item. Where hashes panics, nothing has changed.
func (x *index) replace(it *item, o *object.Object) {
	before, after := x.hashes(it.object), x.hashes(o)
	if before != after {
		x.unlinkAll(it, before)
		x.link(it, after)
	}
	it.object = o
}

func childHashes(o *object.Object) [indexes]uint64 {
	controller := o.Label(v1.LabelController)
	if controller == "" {
		return [indexes]uint64{}
	}
	_, parent := o.ParentName()
	return [indexes]uint64{byParent: hashOf(controller, o.Label(v1.LabelParentUID)), byName: hashOf(controller, parent), byController: hashOf(controller, "")}
}

func definitionHashes(o *object.Object) [indexes]uint64 {
	of := kind.Defined(o)
	return [indexes]uint64{byParent: hashOf(of.Group, of.Kind)}
}

var seed = maphash.MakeSeed()

// hashOf returns a hash of two texts that is not 0.
func hashOf(a, b string) uint64 {
	return maphash.Comparable(seed, [2]string{a, b}) | 1
}
