package reconcile

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/object"
)

// wanted is a child as it should be.
type wanted struct {
	child   *v1.Child
	kind    kube.Kind
	name    types.NamespacedName
	content map[string]any // as it is applied, without metadata.uid and resourceVersion
	body    body           // the same as text
	hash    string
}

// live is a child as it is.
type live struct {
	child  string // the entry of spec.children that it was made from
	kind   kube.Kind
	object *object.Object
}

// identity tells one child of a parent from another, whatever its version.
type identity struct {
	kind schema.GroupKind
	name types.NamespacedName
}

func (w *wanted) id() identity { return identity{groupKind(w.kind), w.name} }
func (l *live) id() identity   { return identity{groupKind(l.kind), l.object.Key()} }

func groupKind(k kube.Kind) schema.GroupKind {
	return schema.GroupKind{Group: k.Resource.Group, Kind: k.Kind}
}

// String names the child in messages: "ConfigMap default/a".
func (i identity) String() string {
	if i.name.Namespace == "" {
		return i.kind.Kind + " " + publicName(i.name.Name)
	}
	return i.kind.Kind + " " + publicName(i.name.Namespace) + "/" + publicName(i.name.Name)
}

// verb is what to do with a child.
type verb string

const (
	create verb = "create"
	update verb = "update"
	remove verb = "delete"
)

// action is one write.
type action struct {
	verb   verb
	wanted *wanted // nil to remove
	live   *live   // nil to create
	// drift is the path of a field that somebody else has taken, "" for
	// other reasons.
	drift string
	// foreground waits for dependents before the object is gone.
	foreground bool
}

// plan is the difference between what is there and what should be.
type plan struct {
	// apply comes first: create and update.
	apply []action
	// remove comes after all of apply has succeeded.
	remove []action
	// outdated counts children that their strategy leaves as they are.
	outdated int
	// pending counts children that wait for another to be gone.
	pending int
}

// situation is what a plan is made of.
type situation struct {
	children []v1.Child
	wanted   []*wanted
	live     []*live
	manager  string
	// complete is whether wanted and live are all that there is. If not, nothing
	// is removed.
	complete bool
}

// planFor returns what brings live in line with wanted. It reads nothing else.
func planFor(s situation) plan {
	byID := make(map[identity]*live, len(s.live))
	for _, l := range s.live {
		byID[l.id()] = l
	}
	blocked := s.blocked(byID)
	var p plan
	for _, w := range s.wanted {
		l := byID[w.id()]
		delete(byID, w.id())
		p.add(w, l, s.manager, blocked[w.child.Name])
	}
	if !s.complete {
		return p
	}
	for _, l := range s.live { // not byID: its order is random
		if byID[l.id()] == l {
			p.prune(l, s.policy(l))
		}
	}
	s.recreate(&p)
	return p
}

// add plans for one wanted child. blocked holds back creation.
func (p *plan) add(w *wanted, l *live, manager string, blocked bool) {
	switch {
	case l == nil && blocked, l != nil && l.object.Deleting():
		p.pending++
	case l == nil:
		p.apply = append(p.apply, action{verb: create, wanted: w})
	case w.child.UpdateStrategy.Type == v1.UpdateCreateOnly:
	case w.child.UpdateStrategy.Type == v1.UpdateOnDelete:
		if outdated(w, l.object) {
			p.outdated++
		}
	case w.child.UpdateStrategy.Type == v1.UpdateRecreate:
		if outdated(w, l.object) {
			p.pending++
		}
	default:
		if outdated(w, l.object) {
			p.apply = append(p.apply, action{verb: update, wanted: w, live: l})
		} else if path := lost(w, l, manager); path != "" {
			p.apply = append(p.apply, action{verb: update, wanted: w, live: l, drift: path})
		}
	}
}

// prune plans for a child that is no longer wanted.
func (p *plan) prune(l *live, policy v1.PrunePolicy) {
	if policy != v1.PruneRetain && !l.object.Deleting() {
		p.remove = append(p.remove, action{verb: remove, live: l})
	}
}

// recreate plans the deletion of what the Recreate strategy replaces.
func (s situation) recreate(p *plan) {
	if !s.recreates() {
		return
	}
	want := s.recreated()
	for _, l := range s.live {
		if w := want[l.id()]; w != nil && outdated(w, l.object) && !l.object.Deleting() {
			p.remove = append(p.remove, action{verb: remove, live: l, foreground: true})
		}
	}
	for i, a := range p.remove {
		if c := s.childOf(a.live); c != nil && c.UpdateStrategy.Type == v1.UpdateRecreate {
			p.remove[i].foreground = true
		}
	}
}

// blocked returns the groups in which the Recreate strategy makes nothing until what
// it replaces is gone: the whole group goes first.
func (s situation) blocked(byID map[identity]*live) map[string]bool {
	if !s.recreates() {
		return nil
	}
	want := s.recreated()
	blocked := map[string]bool{}
	for id, l := range byID {
		w := want[id]
		if w != nil && outdated(w, l.object) {
			blocked[w.child.Name] = true
			continue
		}
		c := s.childOf(l)
		if w == nil && c != nil && c.UpdateStrategy.Type == v1.UpdateRecreate && c.PrunePolicy != v1.PruneRetain {
			blocked[c.Name] = true
		}
	}
	return blocked
}

// recreated returns what is wanted by the Recreate strategy.
func (s situation) recreated() map[identity]*wanted {
	var out map[identity]*wanted
	for _, w := range s.wanted {
		if w.child.UpdateStrategy.Type == v1.UpdateRecreate {
			if out == nil {
				out = make(map[identity]*wanted, len(s.wanted))
			}
			out[w.id()] = w
		}
	}
	return out
}

// recreates reports whether any child has the Recreate strategy.
func (s situation) recreates() bool {
	return slices.ContainsFunc(s.children, func(c v1.Child) bool { return c.UpdateStrategy.Type == v1.UpdateRecreate })
}

func (s situation) childOf(l *live) *v1.Child {
	i := slices.IndexFunc(s.children, func(c v1.Child) bool { return c.Name == l.child })
	if i < 0 {
		return nil
	}
	return &s.children[i]
}

// policy is the prune policy for a child; one whose entry in spec.children is gone
// carries its own.
func (s situation) policy(l *live) v1.PrunePolicy {
	if c := s.childOf(l); c != nil {
		return c.PrunePolicy
	}
	return v1.PrunePolicy(l.object.Annotation(v1.AnnotationPrune))
}

// lost returns the path of a field that we applied and hold no more, or "". The object
// was last applied from what is wanted.
func lost(w *wanted, l *live, manager string) string {
	if l.object.Noted(object.Covered) {
		return ""
	}
	path := fieldSet(l.object.Applied(manager, "")).uncovered(w.content)
	if path == "" {
		l.object.Note(object.Covered)
	}
	return path
}

// outdated reports whether the object was last applied from something else.
func outdated(w *wanted, o *object.Object) bool {
	return o.Annotation(v1.AnnotationHash) != w.hash
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
