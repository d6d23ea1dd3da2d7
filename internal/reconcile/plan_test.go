package reconcile

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/seal"
)

// side is a child in a plan test: as wanted, or as it is.
type side struct {
	name, group, hash string
	deleting, drifted bool
	prune             string
	stripped          bool // of its owner reference
}

// ring has one key, the same each time.
func ring(t testing.TB) *seal.Ring {
	t.Helper()
	r := &seal.Ring{}
	r.Set(keysOf(t, "1"))
	return r
}

// one is the parent of all sides.
func one(t testing.TB) *maker {
	t.Helper()
	return &maker{controller: "m", apiVersion: "example.org/v1", kind: "App", parent: packed(t, parse(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: one, uid: u}}")), depth: 1, seals: ring(t), clock: clocktesting.NewFakePassiveClock(time.Time{})}
}

// situationFor returns what a plan is made of.
func situationFor(t testing.TB, child v1.Child, wantedSides, liveSides []side) situation {
	t.Helper()
	kind := fakeKinds[schema.GroupKind{Kind: "ConfigMap"}]
	s := situation{children: []v1.Child{child}, manager: "templater/m", complete: true}
	var d desire
	maker := one(t)
	s.maker = maker
	for _, w := range wantedSides {
		d.wanted = append(d.wanted, &wanted{child: &s.children[0], kind: kind, name: nameOf(w.content()), content: w.author(), hash: w.hash, marks: marks{maker: maker, child: &s.children[0], kind: kind.GroupKind()}})
	}
	for _, l := range liveSides {
		s.live = append(s.live, &live{child: l.group, from: l.group, kind: kind, object: l.object(t)})
	}
	s.wanted, _ = pair(d, s.live)
	return s
}

// author is the content without what templater adds.
func (s side) author() map[string]any {
	content := s.content()
	metadata := content["metadata"].(map[string]any)
	content["metadata"] = map[string]any{"name": metadata["name"], "namespace": metadata["namespace"]}
	return content
}

func (s side) content() map[string]any {
	metadata := map[string]any{
		"name": s.name, "namespace": "ns", "uid": "uid-" + s.name,
		"labels":      map[string]any{v1.LabelController: "m", v1.LabelChild: s.group, v1.LabelParentUID: "u"},
		"annotations": map[string]any{v1.AnnotationHash: s.hash, v1.AnnotationDepth: "1"},
	}
	if !s.stripped {
		metadata["ownerReferences"] = []any{map[string]any{"apiVersion": "example.org/v1", "kind": "App", "name": "one", "uid": "u", "controller": true, "blockOwnerDeletion": true}}
	}
	if s.deleting {
		metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	if s.prune != "" {
		metadata["annotations"].(map[string]any)[v1.AnnotationPrune] = s.prune
	}
	owned := map[string]any{"f:metadata": map[string]any{}, "f:data": map[string]any{"f:a": map[string]any{}}}
	if s.drifted {
		delete(owned, "f:data")
	}
	metadata["managedFields"] = []any{map[string]any{"manager": "templater/m", "operation": "Apply", "fieldsV1": owned}}
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": map[string]any{"a": "1"}}
}

func (s side) object(t testing.TB) *object.Object {
	t.Helper()
	content := s.content()
	subject := one(t).subject(types.NamespacedName{Namespace: "ns", Name: s.name}, schema.GroupKind{Kind: "ConfigMap"})
	content["metadata"].(map[string]any)["annotations"].(map[string]any)[v1.AnnotationSeal] = ring(t).Seal(subject, seal.Note{Entry: s.group})
	o, err := object.From(content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func planText(p plan) []string {
	out := []string{}
	for _, a := range p.apply {
		text := fmt.Sprint(a.verb, " ", a.wanted.name.Name)
		if a.drift != "" {
			text += " because of " + a.drift
		}
		out = append(out, text)
	}
	for _, a := range p.remove {
		text := fmt.Sprint(a.verb, " ", a.live.object.Name())
		if a.foreground {
			text += " in the foreground"
		}
		out = append(out, text)
	}
	if p.pending > 0 {
		out = append(out, fmt.Sprint(p.pending, " pending"))
	}
	if p.outdated > 0 {
		out = append(out, fmt.Sprint(p.outdated, " outdated"))
	}
	return out
}

func TestPlan(t *testing.T) {
	for why, row := range map[string]struct {
		strategy   v1.UpdateStrategyType
		policy     v1.PrunePolicy
		wanted     []side
		live       []side
		incomplete bool
		want       []string
	}{
		"what is missing is created": {
			wanted: []side{{name: "a", hash: "1"}}, want: []string{"create a"},
		},
		"what is there as it should be costs nothing": {
			wanted: []side{{name: "a", hash: "1"}}, live: []side{{name: "a", hash: "1"}}, want: []string{},
		},
		"what the template changed is updated": {
			wanted: []side{{name: "a", hash: "2"}}, live: []side{{name: "a", hash: "1"}}, want: []string{"update a"},
		},
		"what somebody else changed is repaired": {
			wanted: []side{{name: "a", hash: "1"}}, live: []side{{name: "a", hash: "1", drifted: true}}, want: []string{"update a because of .data.a"},
		},
		"what is no longer wanted goes, after the rest": {
			wanted: []side{{name: "a", hash: "1"}}, live: []side{{name: "b", hash: "1"}}, want: []string{"create a", "delete b"},
		},
		"nothing goes while something is not known": {
			wanted: []side{{name: "a", hash: "1"}}, live: []side{{name: "b", hash: "1"}}, incomplete: true, want: []string{"create a"},
		},
		"Orphan keeps what is no longer wanted": {
			policy: v1.PruneOrphan, live: []side{{name: "b", hash: "1", prune: "Orphan"}}, want: []string{},
		},
		"what stays says so itself, for the time when its entry is gone": {
			policy: v1.PruneOrphan, live: []side{{name: "b", hash: "1"}}, want: []string{"mark b"},
		},
		"so does what may go once everything is known": {
			live: []side{{name: "b", hash: "1", prune: "Orphan"}}, incomplete: true, want: []string{"mark b"},
		},
		"what is being deleted says no more": {
			policy: v1.PruneOrphan, live: []side{{name: "b", hash: "1", deleting: true}}, want: []string{},
		},
		"a group that left the spec goes": {
			live: []side{{name: "b", group: "former", hash: "1"}}, want: []string{"delete b"},
		},
		"so does one beside a group that Recreate replaces as a whole": {
			strategy: v1.UpdateRecreate, wanted: []side{{name: "a", hash: "1"}}, live: []side{{name: "a", hash: "1"}, {name: "b", group: "former", hash: "1"}}, want: []string{"delete b"},
		},
		"what goes gets no marks": {
			live: []side{{name: "b", hash: "1", stripped: true}}, want: []string{"delete b"},
		},
		"a group that left the spec with Orphan stays": {
			live: []side{{name: "b", group: "former", hash: "1", prune: "Orphan"}}, want: []string{},
		},
		"an object that moved to another group is updated, not made anew": {
			wanted: []side{{name: "a", hash: "2"}}, live: []side{{name: "a", group: "former", hash: "1"}}, want: []string{"update a"},
		},
		"what is being deleted is awaited": {
			wanted: []side{{name: "a", hash: "1"}}, live: []side{{name: "a", hash: "1", deleting: true}}, want: []string{"1 pending"},
		},
		"what goes already is not deleted again": {
			live: []side{{name: "a", hash: "1", deleting: true}}, want: []string{},
		},
		"CreateOnly creates": {
			strategy: v1.UpdateCreateOnly, wanted: []side{{name: "a", hash: "1"}}, want: []string{"create a"},
		},
		"CreateOnly changes nothing later": {
			strategy: v1.UpdateCreateOnly, wanted: []side{{name: "a", hash: "2"}}, live: []side{{name: "a", hash: "1", drifted: true}}, want: []string{},
		},
		"OnDelete tells of what is out of date": {
			strategy: v1.UpdateOnDelete, wanted: []side{{name: "a", hash: "2"}}, live: []side{{name: "a", hash: "1"}}, want: []string{"1 outdated"},
		},
		"OnDelete makes anew what somebody deleted": {
			strategy: v1.UpdateOnDelete, wanted: []side{{name: "a", hash: "2"}}, want: []string{"create a"},
		},
		"Recreate deletes what is out of date and makes nothing yet": {
			strategy: v1.UpdateRecreate,
			wanted:   []side{{name: "a", hash: "2"}, {name: "b", hash: "2"}, {name: "c", hash: "2"}},
			live:     []side{{name: "a", hash: "1"}, {name: "b", hash: "1"}},
			want:     []string{"delete a in the foreground", "delete b in the foreground", "3 pending"},
		},
		"Recreate waits for the last one to be gone": {
			strategy: v1.UpdateRecreate,
			wanted:   []side{{name: "a", hash: "2"}, {name: "b", hash: "2"}},
			live:     []side{{name: "b", hash: "1", deleting: true}},
			want:     []string{"2 pending"},
		},
		"Recreate waits for one that is not wanted any more, too": {
			strategy: v1.UpdateRecreate,
			wanted:   []side{{name: "a", hash: "2"}},
			live:     []side{{name: "z", hash: "1"}},
			want:     []string{"delete z in the foreground", "1 pending"},
		},
		"Recreate makes all anew at once": {
			strategy: v1.UpdateRecreate,
			wanted:   []side{{name: "a", hash: "2"}, {name: "b", hash: "2"}},
			want:     []string{"create a", "create b"},
		},
		"Recreate replaces one that somebody deleted, and leaves the others": {
			strategy: v1.UpdateRecreate,
			wanted:   []side{{name: "a", hash: "1"}, {name: "b", hash: "1"}},
			live:     []side{{name: "b", hash: "1"}},
			want:     []string{"create a"},
		},
		"Recreate does not look at who owns fields": {
			strategy: v1.UpdateRecreate, wanted: []side{{name: "a", hash: "1"}}, live: []side{{name: "a", hash: "1", drifted: true}}, want: []string{},
		},
		"Recreate deletes nothing while something is not known": {
			strategy: v1.UpdateRecreate, wanted: []side{{name: "a", hash: "2"}}, live: []side{{name: "a", hash: "1"}}, incomplete: true, want: []string{"1 pending"},
		},
		"Recreate does not wait for one that stays, as prunePolicy Orphan says": {
			strategy: v1.UpdateRecreate, policy: v1.PruneOrphan,
			wanted: []side{{name: "a", hash: "1"}}, live: []side{{name: "z", hash: "1", prune: "Orphan"}}, want: []string{"create a"},
		},
		"Recreate marks what it cannot replace yet": {
			strategy: v1.UpdateRecreate, wanted: []side{{name: "a", hash: "2"}}, live: []side{{name: "a", hash: "1", stripped: true}}, incomplete: true, want: []string{"mark a", "1 pending"},
		},
		"Recreate does not mark what it replaces": {
			strategy: v1.UpdateRecreate, wanted: []side{{name: "a", hash: "2"}}, live: []side{{name: "a", hash: "1", stripped: true}}, want: []string{"delete a in the foreground", "1 pending"},
		},
		"a mark that is missing goes with an apply of the whole": {
			wanted: []side{{name: "a", hash: "1"}}, live: []side{{name: "a", hash: "1", stripped: true}}, want: []string{"update a"},
		},
		"OnDelete marks what is out of date": {
			strategy: v1.UpdateOnDelete, wanted: []side{{name: "a", hash: "2"}}, live: []side{{name: "a", hash: "1", group: "former"}}, want: []string{"mark a", "1 outdated"},
		},
		"what is being deleted gets no marks": {
			strategy: v1.UpdateCreateOnly, wanted: []side{{name: "a", hash: "1"}}, live: []side{{name: "a", hash: "1", group: "former", deleting: true}}, want: []string{"1 pending"},
		},
	} {
		t.Run(why, func(t *testing.T) {
			child := v1.Child{Name: "g", UpdateStrategy: v1.UpdateStrategy{Type: row.strategy}, PrunePolicy: row.policy}
			for i := range row.live {
				if row.live[i].group == "" {
					row.live[i].group = "g"
				}
			}
			s := situationFor(t, child, row.wanted, row.live)
			s.complete = !row.incomplete
			if diff := cmp.Diff(row.want, planText(planFor(s))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyTheGroupThatIsReplacedAsAWholeGoesInTheForeground(t *testing.T) {
	s := situationFor(t, v1.Child{Name: "g", UpdateStrategy: v1.UpdateStrategy{Type: v1.UpdateRecreate}}, nil,
		[]side{{name: "a", group: "g", hash: "1"}, {name: "b", group: "h", hash: "1"}})
	s.children = append(s.children, v1.Child{Name: "h"})
	if diff := cmp.Diff([]string{"delete a in the foreground", "delete b"}, planText(planFor(s))); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestOnlyTheEntryUnderRecreateIsReplaced(t *testing.T) {
	s := situationFor(t, v1.Child{Name: "g"}, []side{{name: "a", hash: "2"}}, []side{{name: "a", group: "g", hash: "1"}})
	s.children = append(s.children, v1.Child{Name: "h", UpdateStrategy: v1.UpdateStrategy{Type: v1.UpdateRecreate}})
	if diff := cmp.Diff([]string{"update a"}, planText(planFor(s))); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestEntryOfAChildIsTheOneThatWantsIt(t *testing.T) {
	all := entries{{Name: "g"}, {Name: "h"}}
	from := side{name: "a", group: "g"}.object(t)
	for why, row := range map[string]struct {
		l    *live
		want string
	}{
		"another one wants it": {&live{object: from, wanted: &wanted{child: &all[1]}}, "h"},
		"nobody wants it":      {&live{object: from, from: "g"}, "g"},
	} {
		if got := all.of(row.l); got == nil || got.Name != row.want {
			t.Errorf("%s: %v, want %s", why, got, row.want)
		}
	}
}

func TestOnlyTheEntryUnderRecreateIsHeldBack(t *testing.T) {
	s := situationFor(t, v1.Child{Name: "h"}, []side{{name: "c", hash: "1"}}, []side{{name: "b", group: "h", hash: "1"}})
	s.children = append(s.children, v1.Child{Name: "g", UpdateStrategy: v1.UpdateStrategy{Type: v1.UpdateRecreate}})
	if diff := cmp.Diff([]string{"create c", "delete b"}, planText(planFor(s))); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}
