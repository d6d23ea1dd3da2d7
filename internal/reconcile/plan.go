package reconcile

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/fields"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// wanted is a child as it should be.
type wanted struct {
	child   *v1.Child
	kind    kind.Kind
	name    types.NamespacedName
	content map[string]any // as its author wants it; see marks for what comes on top
	hash    string         // of content
	bytes   int            // of content as JSON
	marks   marks
	// disputed is whether another document wants the object, too.
	disputed bool
	line     int32 // of the template where the document begins
	live     *live // nil while it is not there: see pair
}

// live is a child as it is.
type live struct {
	child  string // the entry of spec.children that it belongs to: see pair
	from   string // the one that it was made from
	kind   kind.Kind
	object *object.Object
	wanted *wanted // nil where nobody wants it any more
}

// identity tells one child of a parent from another, whatever its version.
type identity struct {
	kind schema.GroupKind
	name types.NamespacedName
}

func (w *wanted) id() identity { return identity{w.kind.GroupKind(), w.name} }
func (l *live) id() identity   { return identity{l.kind.GroupKind(), l.object.Key()} }

// String names the child in messages: "ConfigMap default/a".
func (i identity) String() string {
	if i.name.Namespace == "" {
		return i.kind.Kind + " " + problem.PublicName(i.name.Name)
	}
	return i.kind.Kind + " " + problem.PublicName(i.name.Namespace) + "/" + problem.PublicName(i.name.Name)
}

// verb is what to do with a child.
type verb string

const (
	create verb = "create"
	update verb = "update"
	remark verb = "mark" // leaves all but the marks alone
	reseal verb = "seal" // renews the seal of what no entry of spec.children knows
	remove verb = "delete"
)

// action is one write.
type action struct {
	verb   verb
	wanted *wanted // nil to remove and to reseal
	live   *live   // nil to create
	// drift is the path of a field that somebody else has taken, "" for
	// other reasons.
	drift string
	// foreground waits for dependents before the object is gone.
	foreground bool
}

// plan is the difference between what is there and what should be.
type plan struct {
	// apply comes first: create, update, remark and reseal.
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
	children entries
	wanted   []*wanted // and live: see pair
	live     []*live
	manager  string
	maker    *maker
	// complete is whether wanted and live are all that there is. If not, nothing
	// is removed.
	complete bool
}

// planFor returns what brings live in line with wanted. It reads nothing else.
func planFor(s situation) plan {
	blocked := s.blocked()
	var p plan
	for _, w := range s.wanted {
		if w.live == nil {
			p.make(w, blocked[w.child.Name])
		} else {
			s.keep(&p, w, w.live)
		}
	}
	for _, l := range s.live {
		if l.wanted == nil {
			s.leave(&p, l)
		}
	}
	if s.complete {
		s.recreate(&p)
	}
	return p
}

// make plans for a wanted child that is not there. blocked holds it back.
func (p *plan) make(w *wanted, blocked bool) {
	if blocked {
		p.pending++
		return
	}
	p.apply = append(p.apply, action{verb: create, wanted: w})
}

// keep plans for a wanted child that is there.
func (s situation) keep(p *plan, w *wanted, l *live) {
	if l.object.Deleting() {
		p.pending++
		return
	}
	old, marked := outdated(w, l.object), !w.marks.differ(l.object)
	switch w.child.UpdateStrategy.Type {
	case v1.UpdateCreateOnly:
	case v1.UpdateOnDelete:
		if old {
			p.outdated++
		}
	case v1.UpdateRecreate:
		if old {
			p.pending++
			marked = marked || s.complete // it goes
		}
	case v1.UpdateApply:
		fallthrough
	default:
		if old || !marked {
			p.apply = append(p.apply, action{verb: update, wanted: w, live: l})
		} else if path := lost(w, l, s.manager); path != "" {
			p.apply = append(p.apply, action{verb: update, wanted: w, live: l, drift: path})
		} else if w.marks.worn(l.object) {
			p.apply = append(p.apply, action{verb: remark, wanted: w, live: l})
		}
		return
	}
	if !marked || w.marks.worn(l.object) {
		p.apply = append(p.apply, action{verb: remark, wanted: w, live: l})
	}
}

// leave plans for a child that is no longer wanted. One that stays gets the marks of its entry: they are all
// that tells its policies once the entry is gone.
func (s situation) leave(p *plan, l *live) {
	if l.object.Deleting() {
		return
	}
	if s.complete && s.children.prunePolicy(l) != v1.PruneOrphan {
		p.remove = append(p.remove, action{verb: remove, live: l})
		return
	}
	if c := s.children.of(l); c != nil {
		w := &wanted{child: c, kind: l.kind, name: l.object.Key(), marks: marks{maker: s.maker, child: c, kind: l.kind.GroupKind()}}
		if w.marks.differ(l.object) || w.marks.worn(l.object) {
			p.apply = append(p.apply, action{verb: remark, wanted: w, live: l})
		}
		return
	}
	if _, holds := s.maker.open(l.object, l.kind.GroupKind()); !holds || s.maker.seals.Worn(l.object.Annotation(v1.AnnotationSeal)) {
		p.apply = append(p.apply, action{verb: reseal, live: l})
	}
}

// recreate plans the deletion of what the Recreate strategy replaces.
func (s situation) recreate(p *plan) {
	if !s.recreates() {
		return
	}
	for _, l := range s.live {
		if l.replaced() && !l.object.Deleting() {
			p.remove = append(p.remove, action{verb: remove, live: l, foreground: true})
		}
	}
	for i, a := range p.remove {
		if c := s.children.of(a.live); c != nil && c.UpdateStrategy.Type == v1.UpdateRecreate {
			p.remove[i].foreground = true
		}
	}
}

// replaced reports whether the Recreate strategy replaces the object.
func (l *live) replaced() bool {
	return l.wanted != nil && l.wanted.child.UpdateStrategy.Type == v1.UpdateRecreate && outdated(l.wanted, l.object)
}

// blocked returns the groups in which the Recreate strategy makes nothing until what
// it replaces is gone: the whole group goes first.
func (s situation) blocked() map[string]bool {
	if !s.recreates() {
		return nil
	}
	blocked := map[string]bool{}
	for _, l := range s.live {
		if l.replaced() {
			blocked[l.child] = true
			continue
		}
		c := s.children.of(l)
		if l.wanted == nil && c != nil && c.UpdateStrategy.Type == v1.UpdateRecreate && c.PrunePolicy != v1.PruneOrphan {
			blocked[c.Name] = true
		}
	}
	return blocked
}

// recreates reports whether any child has the Recreate strategy.
func (s situation) recreates() bool {
	return slices.ContainsFunc(s.children, func(c v1.Child) bool { return c.UpdateStrategy.Type == v1.UpdateRecreate })
}

// lost returns the path of a field that we applied and hold no more, or "". The object
// was last applied from what is wanted.
func lost(w *wanted, l *live, manager string) string {
	altered := w.marks.altered(l.object)
	if !altered && l.object.Noted(object.Covered) {
		return ""
	}
	held := fields.Set(l.object.Applied(manager, ""))
	path := held.Uncovered(w.content)
	if path == "" && w.marks.managedBy {
		path = held.Uncovered(added)
	}
	switch {
	case path != "": // tells more than that somebody has taken it
	case altered:
		return ".metadata.managedFields"
	default:
		l.object.Note(object.Covered)
	}
	return path
}

// outdated reports whether the object was last made or changed for something else than its author wants now.
func outdated(w *wanted, o *object.Object) bool {
	return o.Annotation(v1.AnnotationHash) != w.hash
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
