package plan

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/reconcile/child"
)

// side is a desired or live child in a plan test.
type side struct {
	name, group, hash string
	deleting, drifted bool
	prune             string
	stripped          bool // whether it has lost its owner reference
	edited            bool // whether its values were changed with templater's own field manager
	worn              bool // whether its seal was made with the previous key
}

// ring returns a ring with keys of these numbers. The keys are always the same.
func ring(t testing.TB, numbers ...string) *seal.Ring {
	t.Helper()
	data := map[string]any{}
	for _, number := range numbers {
		data[number] = base64.StdEncoding.EncodeToString([]byte(strings.Repeat(number, 32)))
	}
	keys, err := seal.Parse(data, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	r := &seal.Ring{}
	r.Set(keys)
	return r
}

// configMaps is the kind of all sides.
var configMaps = kind.Kind{Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}

// one returns the Maker for the parent of all sides.
func one(t testing.TB) *child.Maker {
	t.Helper()
	parent, err := object.From(map[string]any{"apiVersion": "example.org/v1", "kind": "App", "metadata": map[string]any{"name": "one", "uid": "u"}})
	if err != nil {
		t.Fatal(err)
	}
	rule := &child.Ownership{Controller: "m", Manager: "templater/m", APIVersion: "example.org/v1", Parents: schema.GroupKind{Group: "example.org", Kind: "App"}, Seals: ring(t, "1", "2"), Departed: &child.Departed{}}
	return &child.Maker{Ownership: rule, Parent: parent, Depth: 1, Clock: clocktesting.NewFakePassiveClock(time.Time{})}
}

// inputFor returns the input of a plan.
func inputFor(t testing.TB, entry v1.Child, wantedSides, liveSides []side) Input {
	t.Helper()
	in := Input{Entries: []v1.Child{entry}, Maker: one(t), Complete: true}
	var d child.Desired
	for _, w := range wantedSides {
		d.Wanted = append(d.Wanted, &child.Wanted{
			Entry: &in.Entries[0], Kind: configMaps, Name: types.NamespacedName{Namespace: "ns", Name: w.name},
			Content: w.author(), Hash: w.hash, Marks: in.Maker.Marks(&in.Entries[0], configMaps.GroupKind(), in.Maker.Parent.Namespace(), false),
		})
	}
	for _, l := range liveSides {
		in.Live = append(in.Live, in.Maker.Live(configMaps, l.object(t)))
	}
	in.Wanted, _ = d.Pair(in.Live)
	return in
}

// author returns the content without templater's metadata.
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
	value := s.hash
	if s.edited {
		value = "edited"
	}
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": map[string]any{"a": value}}
}

func (s side) object(t testing.TB) *object.Object {
	t.Helper()
	content := s.content()
	subject := seal.Subject{Definition: seal.Definition{Kind: v1.KindTemplateController, Name: types.NamespacedName{Name: "m"}}, Parent: seal.Parent{UID: "u", Kind: schema.GroupKind{Group: "example.org", Kind: "App"}, Name: types.NamespacedName{Namespace: "ns", Name: "one"}}, Kind: configMaps.GroupKind(), Name: types.NamespacedName{Namespace: "ns", Name: s.name}}
	by := ring(t, "1", "2")
	if s.worn {
		by = ring(t, "1")
	}
	content["metadata"].(map[string]any)["annotations"].(map[string]any)[v1.AnnotationSeal] = by.Seal(subject, seal.Note{Entry: s.group, Hash: s.hash, Policies: seal.Policies{PruneOrphan: s.prune == "Orphan"}})
	o, err := object.From(content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func planText(p Plan) []string {
	out := []string{}
	for _, a := range p.Apply {
		name := ""
		if a.Wanted != nil {
			name = a.Wanted.Name.Name
		} else {
			name = a.Live.Object.Name()
		}
		text := fmt.Sprint(a.Verb, " ", name)
		if a.Drift != "" {
			text += " because of " + a.Drift
		}
		out = append(out, text)
	}
	for _, a := range p.Remove {
		text := fmt.Sprint(a.Verb, " ", a.Live.Object.Name())
		if a.Foreground {
			text += " in the foreground"
		}
		out = append(out, text)
	}
	if p.Pending > 0 {
		out = append(out, fmt.Sprint(p.Pending, " pending"))
	}
	if p.Outdated > 0 {
		out = append(out, fmt.Sprint(p.Outdated, " outdated"))
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
		"an incomplete observation only marks": {
			live: []side{{name: "b", hash: "1", prune: "Orphan"}}, incomplete: true, want: []string{"mark b"},
		},
		"objects being deleted are ignored": {
			policy: v1.PruneOrphan, live: []side{{name: "b", hash: "1", deleting: true}}, want: []string{},
		},
		"children of a removed child template are deleted": {
			live: []side{{name: "b", group: "former", hash: "1"}}, want: []string{"delete b"},
		},
		"removed child template beside one that Recreate replaces as a whole": {
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
		"Recreate waits for one that is no longer rendered, too": {
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
		"what has the seal of an older key gets a new one": {
			wanted: []side{{name: "a", hash: "1"}}, live: []side{{name: "a", hash: "1", worn: true}}, want: []string{"mark a"},
		},
		"so it does where nothing else changes": {
			strategy: v1.UpdateCreateOnly, wanted: []side{{name: "a", hash: "1"}}, live: []side{{name: "a", hash: "1", worn: true}}, want: []string{"mark a"},
		},
		"so does what stays, once": {
			policy: v1.PruneOrphan, live: []side{{name: "b", hash: "1", prune: "Orphan", worn: true}}, want: []string{"mark b"},
		},
		"so does what stays of a group that left the spec": {
			live: []side{{name: "b", group: "former", hash: "1", prune: "Orphan", worn: true}}, want: []string{"seal b"},
		},
		"an update brings the new seal along": {
			wanted: []side{{name: "a", hash: "2"}}, live: []side{{name: "a", hash: "1", worn: true}}, want: []string{"update a"},
		},
		"what goes needs no new seal": {
			live: []side{{name: "b", hash: "1", worn: true}}, want: []string{"delete b"},
		},
		"what is being deleted gets no marks": {
			strategy: v1.UpdateCreateOnly, wanted: []side{{name: "a", hash: "1"}}, live: []side{{name: "a", hash: "1", group: "former", deleting: true}}, want: []string{"1 pending"},
		},
	} {
		t.Run(why, func(t *testing.T) {
			entry := v1.Child{Name: "g", UpdateStrategy: v1.UpdateStrategy{Type: row.strategy}, PrunePolicy: row.policy}
			for i := range row.live {
				if row.live[i].group == "" {
					row.live[i].group = "g"
				}
			}
			s := inputFor(t, entry, row.wanted, row.live)
			s.Complete = !row.incomplete
			if diff := cmp.Diff(row.want, planText(Make(s))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyRecreateUsesForegroundDeletion(t *testing.T) {
	s := inputFor(t, v1.Child{Name: "g", UpdateStrategy: v1.UpdateStrategy{Type: v1.UpdateRecreate}}, nil,
		[]side{{name: "a", group: "g", hash: "1"}, {name: "b", group: "h", hash: "1"}})
	s.Entries = append(s.Entries, v1.Child{Name: "h"})
	if diff := cmp.Diff([]string{"delete a in the foreground", "delete b"}, planText(Make(s))); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestRecreateReplacesOnlyItsTemplate(t *testing.T) {
	s := inputFor(t, v1.Child{Name: "g"}, []side{{name: "a", hash: "2"}}, []side{{name: "a", group: "g", hash: "1"}})
	s.Entries = append(s.Entries, v1.Child{Name: "h", UpdateStrategy: v1.UpdateStrategy{Type: v1.UpdateRecreate}})
	if diff := cmp.Diff([]string{"update a"}, planText(Make(s))); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestRecreateBlocksOnlyItsTemplate(t *testing.T) {
	s := inputFor(t, v1.Child{Name: "h"}, []side{{name: "c", hash: "1"}}, []side{{name: "b", group: "h", hash: "1"}})
	s.Entries = append(s.Entries, v1.Child{Name: "g", UpdateStrategy: v1.UpdateStrategy{Type: v1.UpdateRecreate}})
	if diff := cmp.Diff([]string{"create c", "delete b"}, planText(Make(s))); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestLostManagedByLabelIsRestored(t *testing.T) {
	for why, row := range map[string]struct {
		drifted, label bool // whether the field is no longer owned, and whether the label is owned
		want           []string
	}{
		"all is held":                  {false, true, []string{}},
		"the label is lost":            {false, false, []string{"update a because of .metadata.labels." + v1.LabelManagedBy}},
		"a field of the author is":     {true, true, []string{"update a because of .data.a"}},
		"both are: the author's first": {true, false, []string{"update a because of .data.a"}},
	} {
		live := side{name: "a", group: "g", hash: "1", drifted: row.drifted}
		in := inputFor(t, v1.Child{Name: "g"}, []side{{name: "a", hash: "1"}}, []side{live})
		content := in.Live[0].Object.Content()
		metadata := content["metadata"].(map[string]any)
		metadata["labels"].(map[string]any)[v1.LabelManagedBy] = v1.ManagedBy
		metadata["managedFields"] = live.content()["metadata"].(map[string]any)["managedFields"]
		labels := map[string]any{"f:" + v1.LabelController: map[string]any{}}
		if row.label {
			labels["f:"+v1.LabelManagedBy] = map[string]any{}
		}
		metadata["managedFields"].([]any)[0].(map[string]any)["fieldsV1"].(map[string]any)["f:metadata"] = map[string]any{"f:labels": labels}
		o, err := object.From(content)
		if err != nil {
			t.Fatal(err)
		}
		in.Live[0].Object = o
		in.Wanted[0].Marks = in.Maker.Marks(&in.Entries[0], configMaps.GroupKind(), in.Maker.Parent.Namespace(), true)
		if diff := cmp.Diff(row.want, planText(Make(in))); diff != "" {
			t.Errorf("%s: plan (-want +got):\n%s", why, diff)
		}
	}
}

func TestForeignApplyByOurManagerIsReverted(t *testing.T) {
	for why, row := range map[string]struct {
		live    side
		applied bool // by this process
		want    []string
	}{
		"the values are as desired":                      {side{name: "a", group: "g", hash: "1"}, false, []string{}},
		"the values differ":                              {side{name: "a", group: "g", hash: "1", edited: true}, false, []string{"update a because of .metadata.managedFields"}},
		"the values differ, and the server has set them": {side{name: "a", group: "g", hash: "1", edited: true}, true, []string{}},
	} {
		t.Run(why, func(t *testing.T) {
			in := inputFor(t, v1.Child{Name: "g"}, []side{{name: "a", hash: "1"}}, []side{row.live})
			if row.applied {
				in.Wanted[0].Applied(in.Live[0].Object)
			}
			for _, when := range []string{"at first", "again"} {
				if diff := cmp.Diff(row.want, planText(Make(in))); diff != "" {
					t.Errorf("plan %s (-want +got):\n%s", when, diff)
				}
			}
			if known := in.Live[0].Object.Noted(object.Covered); known != (len(row.want) == 0) {
				t.Errorf("the object is known to have no drift: %v", known)
			}
		})
	}
}
