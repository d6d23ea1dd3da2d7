package reconcile

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
)

// side is a child in a plan test: as wanted, or as it is.
type side struct {
	name, group, hash string
	deleting, drifted bool
	prune             string
}

func (s side) content() map[string]any {
	metadata := map[string]any{
		"name": s.name, "namespace": "ns", "uid": "uid-" + s.name,
		"labels":      map[string]any{v1.LabelChild: s.group},
		"annotations": map[string]any{v1.AnnotationHash: s.hash},
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
	o, err := object.From(s.content())
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
		"Retain keeps what is no longer wanted": {
			policy: v1.PruneRetain, live: []side{{name: "b", hash: "1"}}, want: []string{},
		},
		"a group that left the spec goes": {
			live: []side{{name: "b", group: "former", hash: "1"}}, want: []string{"delete b"},
		},
		"a group that left the spec with Retain stays": {
			live: []side{{name: "b", group: "former", hash: "1", prune: "Retain"}}, want: []string{},
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
	} {
		t.Run(why, func(t *testing.T) {
			child := v1.Child{Name: "g", UpdateStrategy: v1.UpdateStrategy{Type: row.strategy}, PrunePolicy: row.policy}
			kind := fakeKinds[schema.GroupKind{Kind: "ConfigMap"}]
			s := situation{children: []v1.Child{child}, manager: "templater/m", complete: !row.incomplete}
			for _, w := range row.wanted {
				s.wanted = append(s.wanted, &wanted{child: &s.children[0], kind: kind, name: nameOf(w.content()), content: w.content(), hash: w.hash})
			}
			for _, l := range row.live {
				if l.group == "" {
					l.group = "g"
				}
				s.live = append(s.live, &live{child: l.group, kind: kind, object: l.object(t)})
			}
			if diff := cmp.Diff(row.want, planText(planFor(s))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
