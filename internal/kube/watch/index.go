package watch

import (
	"hash/maphash"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
)

// Children returns the children with the label of the controller and that of the parent UID, in no particular order.
func (c *objects) Children(controller string, parent types.UID) []*object.Object {
	return c.find(byParent, hashOf(controller, string(parent)), func(o *object.Object) bool {
		return o.HasController(controller) && o.Label(v1.LabelParentUID) == string(parent)
	})
}

// ChildrenNamed returns the children with the label of the controller that were created for a parent of that name, with any UID.
// They are in the parent's namespace, or in any namespace for a cluster-scoped parent or children of scope Cluster.
func (c *objects) ChildrenNamed(controller string, parent types.NamespacedName) []*object.Object {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.index.named(controller, parent, func() {})
}

// Definitions returns the CustomResourceDefinitions of a kind, in no particular order. There can be several if their names
// conflict.
func (c *objects) Definitions(of schema.GroupKind) []*object.Object {
	return c.find(byParent, hashOf(of.Group, of.Kind), func(o *object.Object) bool { return kind.Defined(o) == of })
}

// Serve reports whether any CustomResourceDefinition, even one that is being deleted, serves kinds in a group version.
func (c *objects) Serve(gv schema.GroupVersion) bool {
	serves := func(o *object.Object) bool { return kind.Defined(o).Group == gv.Group && kind.Serves(o, gv.Version) }
	return slices.ContainsFunc(c.find(byGroup, hashOf(gv.Group, ""), func(*object.Object) bool { return true }), serves) // without holding the lock
}

// EverDefined reports whether this Cache has ever seen a CustomResourceDefinition of a kind.
func (c *objects) EverDefined(of schema.GroupKind) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.defined[of]
}

// EachChild calls f for each child with the label of the controller, in no particular order. f must not call the cache.
func (c *objects) EachChild(controller string, f func(*object.Object)) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for it := c.index.heads[byController][hashOf(controller, "")]; it != nil; it = it.links[byController].next {
		if it.object.HasController(controller) {
			f(it.object)
		}
	}
}

func (c *objects) find(by int, hash uint64, keep func(*object.Object) bool) []*object.Object {
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

// The indexes of a Cache. CustomResourceDefinitions are indexed by kind in byParent, and by group.
const (
	byParent = iota
	byName
	byController
	indexes

	byGroup = byController
)

// link links the items with the same hash.
type link struct{ previous, next *item }

// index finds items by hash. Items with the same hash are in a linked list (chain). The links are stored in the items, to save
// memory. The lock of the Cache protects it.
//
// Parents in many namespaces can have the same name. In a chain of byName, the children of parents in the same namespace are
// adjacent: they form a group. groups contains the first item of each group, except for the first group of a chain. So it is
// empty if all names are unique.
type index struct {
	hashes func(*object.Object) places
	heads  [indexes]map[uint64]*item
	groups map[group]*item
}

// places are the hashes of an object in each index; 0 = not in that index.
type places struct {
	chains    [indexes]uint64
	namespace uint64 // of the parent; identifies the group in byName
}

// group identifies a group in byName.
type group struct{ chain, namespace uint64 }

func (p places) group() group { return group{p.chains[byName], p.namespace} }

func newIndex(role Role) index {
	x := index{hashes: func(*object.Object) places { return places{} }, groups: map[group]*item{}}
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

// named is Cache.ChildrenNamed. It calls visit for each visited item.
func (x *index) named(controller string, parent types.NamespacedName, visit func()) []*object.Object {
	g := group{hashOf(controller, parent.Name), hashOf(parent.Namespace, "")}
	anywhere := parent.Namespace == ""
	it := x.heads[byName][g.chain]
	if !anywhere {
		it = x.first(g)
	}
	var found []*object.Object
	for ; it != nil; it = it.links[byName].next {
		visit()
		namespace, name := it.object.ParentName()
		if (anywhere || namespace == parent.Namespace) && name == parent.Name && it.object.HasController(controller) {
			found = append(found, it.object)
		} else if !anywhere && !x.in(it, g) {
			break // otherwise, it has the same hashes, but names another parent
		}
	}
	return found
}

// first returns the first item of a group, or nil if there is none.
func (x *index) first(g group) *item {
	if it := x.groups[g]; it != nil {
		return it
	}
	if it := x.heads[byName][g.chain]; it != nil && x.in(it, g) {
		return it
	}
	return nil
}

func (x *index) in(it *item, g group) bool { return x.hashes(it.object).group() == g }

func (x *index) add(it *item) { x.linkAll(it, x.hashes(it.object)) }

func (x *index) linkAll(it *item, at places) {
	for by, hash := range at.chains {
		switch {
		case hash == 0:
		case by == byName:
			x.join(it, at.group())
		default:
			x.prepend(by, hash, it)
		}
	}
}

// join inserts an item after the first item of its group. If the group is new, it inserts the item at the head of the chain.
func (x *index) join(it *item, g group) {
	if first := x.first(g); first != nil {
		next := first.links[byName].next
		it.links[byName] = link{previous: first, next: next}
		first.links[byName].next = it
		if next != nil {
			next.links[byName].previous = it
		}
		return
	}
	if head := x.heads[byName][g.chain]; head != nil {
		x.groups[x.hashes(head.object).group()] = head
	}
	x.prepend(byName, g.chain, it)
}

func (x *index) prepend(by int, hash uint64, it *item) {
	head := x.heads[by][hash]
	it.links[by] = link{next: head}
	if head != nil {
		head.links[by].previous = it
	}
	x.heads[by][hash] = it
}

func (x *index) remove(it *item) { x.unlinkAll(it, x.hashes(it.object)) }

func (x *index) unlinkAll(it *item, at places) {
	for by, hash := range at.chains {
		if hash == 0 {
			continue
		}
		if by == byName {
			x.leave(it, at.group())
		}
		x.unlink(by, hash, it)
	}
}

// leave updates groups before an item is unlinked, if it is the first item of its group or of the chain.
func (x *index) leave(it *item, g group) {
	next := it.links[byName].next
	continues := next != nil && x.in(next, g)
	switch {
	case x.heads[byName][g.chain] == it:
		if next != nil && !continues {
			delete(x.groups, x.hashes(next.object).group()) // it is now the first of the chain
		}
	case x.groups[g] != it:
	case continues:
		x.groups[g] = next
	default:
		delete(x.groups, g)
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

// replace sets the object of the item. If hashes panics, nothing has changed.
func (x *index) replace(it *item, o *object.Object) {
	before, after := x.hashes(it.object), x.hashes(o)
	if before != after {
		x.unlinkAll(it, before)
		x.linkAll(it, after)
	}
	it.object = o
}

func childHashes(o *object.Object) places {
	controller := o.ControllerKey()
	if controller == "" {
		return places{}
	}
	namespace, parent := o.ParentName()
	return places{
		chains:    [indexes]uint64{byParent: hashOf(controller, o.Label(v1.LabelParentUID)), byName: hashOf(controller, parent), byController: hashOf(controller, "")},
		namespace: hashOf(namespace, ""),
	}
}

func definitionHashes(o *object.Object) places {
	of := kind.Defined(o)
	return places{chains: [indexes]uint64{byParent: hashOf(of.Group, of.Kind), byGroup: hashOf(of.Group, "")}}
}

var seed = maphash.MakeSeed()

// hashOf returns a hash of two strings. It is never 0.
func hashOf(a, b string) uint64 {
	return maphash.Comparable(seed, [2]string{a, b}) | 1
}
