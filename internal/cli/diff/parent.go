package diff

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/related"
)

// outcome is the final state of one parent under a TemplateController, once all children are ready.
type outcome struct {
	effects map[child.ID]effect
	wanted  map[child.ID]simulate.Child
	errors  []string
	all     bool           // no errors and nothing waits, so wanted is complete
	status  map[string]any // full status of the parent
}

// effect is the effect on one object.
type effect struct {
	verb Verb
	hash string // of the desired object
}

// parent compares one parent, and returns nil if nothing changes.
func (x *comparison) parent(ctx context.Context, parent *object.Object) (*Parent, error) {
	live := x.children[parent.UID()]
	out := &Parent{Kind: parent.Kind(), Namespace: parent.Namespace(), Name: parent.Name(), Changes: []Change{}, Errors: []string{}}
	if x.after.parents[parent.UID()] == nil {
		out.Watched = "removed"
		x.leave(out, live)
		return out, nil
	}
	after := x.outcome(x.after, parent, live) //nolint:contextcheck // in memory, in milliseconds: nothing to cancel
	var before *outcome
	if x.before != nil && x.before.parents[parent.UID()] != nil {
		before = x.outcome(x.before, parent, live) //nolint:contextcheck // as above
	} else {
		out.Watched = "added"
		before = &outcome{status: statusOf(parent.Content())}
	}
	for _, fault := range after.errors {
		if !slices.Contains(before.errors, fault) {
			out.Errors = append(out.Errors, fault)
		}
	}
	if err := x.changes(ctx, out, live, before, after); err != nil {
		return nil, err
	}
	out.Status = unified("status", yamlOf(before.status), yamlOf(after.status))
	if len(out.Changes) == 0 && len(out.Errors) == 0 && out.Status == "" && out.Watched == "" {
		return nil, nil //nolint:nilnil // nothing changes
	}
	return out, nil
}

// leave returns the changes of the children of an object that is no longer a parent.
func (x *comparison) leave(out *Parent, live []*object.Object) {
	entries := child.Entries(x.after.tc.Spec.Children)
	for _, o := range live {
		if o.Deleting() {
			continue
		}
		l := liveOf(o.Content())
		verb := Orphan
		if entries.PrunesUnmatched(l, types.UID(o.Label(v1.LabelParentUID))) {
			verb = Delete
		}
		out.Changes = append(out.Changes, changeOf(verb, l.Entry, o.Content()))
	}
}

// outcome reconciles the parent until nothing changes.
func (x *comparison) outcome(s *side, parent *object.Object, live []*object.Object) *outcome {
	own := map[string]bool{}
	var stay []*object.Object
	state := simulate.State{Parent: parent.Content(), Now: x.Now}
	for _, o := range live {
		own[string(o.UID())] = true
		if !o.Deleting() { // it will be deleted
			state.Objects, stay = append(state.Objects, o.Content()), append(stay, o)
		}
	}
	state.Read = func(entry string, chosen related.Selection) []*object.Object {
		return slices.DeleteFunc(s.related.Read(entry, chosen), func(o *object.Object) bool { return own[string(o.UID())] })
	}
	result, end, err := s.simulator.SettleReady(s.simulator.Holding(state, parent, stay), func(string) bool { return true })
	out := &outcome{effects: map[child.ID]effect{}, wanted: map[child.ID]simulate.Child{}, status: statusOf(end.Parent)}
	if err != nil { // it never settles, or stopped matching since the parents were read
		out.errors = append(out.errors, err.Error())
	}
	out.errors = append(out.errors, result.Errors...)
	out.all = len(out.errors)+len(result.Waits) == 0
	for _, c := range result.Children {
		if c.Wanted != nil {
			out.wanted[child.IDOf(c.Wanted)] = c
		}
	}
	out.compare(state.Objects, end)
	return out
}

// compare computes the effects on the objects.
func (o *outcome) compare(before []map[string]any, end simulate.State) {
	there := map[child.ID]map[string]any{}
	for _, content := range before {
		there[child.IDOf(content)] = content
	}
	for _, content := range end.Objects {
		id := child.IDOf(content)
		was := there[id]
		delete(there, id)
		e := effect{hash: annotation(content, v1.AnnotationHash)}
		_, wanted := o.wanted[id]
		switch {
		case was == nil:
			e.verb = Create
		case metadataText(was, "uid") != metadataText(content, "uid"):
			e.verb = Recreate
		case !wanted && o.all: // otherwise it would be deleted
			e.verb, e.hash = Orphan, ""
		case !wanted:
			continue
		case annotation(was, v1.AnnotationHash) != e.hash:
			e.verb = Update
		default:
			continue
		}
		o.effects[id] = e
	}
	for id := range there {
		verb := Delete
		if end.Unsure(id) {
			verb = Unknown
		}
		o.effects[id] = effect{verb: verb}
	}
}

// changes returns the changes of children that only happen with the edit.
func (x *comparison) changes(ctx context.Context, out *Parent, live []*object.Object, before, after *outcome) error {
	there := map[child.ID]*object.Object{}
	for _, o := range live {
		if !o.Deleting() {
			there[child.IDOf(o.Content())] = o
		}
	}
	ids := map[child.ID]bool{}
	for id := range after.effects {
		ids[id] = true
	}
	for id := range after.wanted {
		ids[id] = true
	}
	made := after.kindsMade()
	for _, id := range slices.SortedFunc(maps.Keys(ids), compareIDs) {
		c := difference{live: there[id], was: before.wanted[id], wanted: after.wanted[id], effect: after.effects[id]}
		if c.stays(x.after.tc.Spec.Children) {
			c.effect.verb = Outdated
		}
		if c.effect.verb == "" || before.effects[id] == c.effect {
			continue
		}
		c.early = made[id.Kind] || after.effects[child.ID{Kind: schema.GroupKind{Kind: "Namespace"}, Name: types.NamespacedName{Name: id.Name.Namespace}}].verb == Create
		change, err := x.tries.change(ctx, c)
		if err != nil {
			return err
		}
		if change != nil {
			out.Changes = append(out.Changes, *change)
		}
	}
	return nil
}

// kindsMade returns the kinds that the cluster does not have before the definitions are created that are among the children.
func (o *outcome) kindsMade() map[schema.GroupKind]bool {
	made := map[schema.GroupKind]bool{}
	for id, e := range o.effects {
		if e.verb == Create && id.Kind == (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
			made[kind.Declared{o.wanted[id].Wanted}.All()[0]] = true
		}
	}
	return made
}

// stays reports whether the object is kept as it is until somebody deletes it, although its template renders something else.
func (d difference) stays(entries []v1.Child) bool {
	return d.live != nil && d.was.Wanted != nil && !simulate.Same(d.was.Wanted, d.wanted.Wanted) && slices.ContainsFunc(entries, func(c v1.Child) bool {
		return c.Name == d.wanted.Entry && c.UpdateStrategy.Type == v1.UpdateOnDelete
	})
}

func compareIDs(a, b child.ID) int {
	return cmp.Or(cmp.Compare(a.Kind.String(), b.Kind.String()), object.CompareKeys(a.Name, b.Name))
}
