package watch

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
)

// made is a child of the parent with that name and UID.
func made(controller, name, parent, uid string) *object.Object {
	content := child(name, "u-"+name, 1).Content()
	metadata, _ := content["metadata"].(map[string]any)
	metadata["labels"] = map[string]any{v1.LabelController: controller, v1.LabelParentUID: uid}
	metadata["ownerReferences"] = []any{map[string]any{"apiVersion": "x/v1", "kind": "X", "name": parent, "uid": uid, "controller": true}}
	return pack(content)
}

func TestObjectsWithSameHashAreDistinguished(t *testing.T) {
	r := newRecorder(t, Want{Role: Child})
	r.index.hashes = func(*object.Object) places {
		return places{chains: [indexes]uint64{byParent: hashOf("c", "1"), byName: hashOf("c", "one"), byController: hashOf("c", "")}, namespace: hashOf("ns", "")}
	}
	if err := r.Replace([]any{made("c", "a", "one", "1"), made("c", "b", "two", "2"), made("d", "c", "one", "1")}, "10"); err != nil {
		t.Fatal(err)
	}
	var all []*object.Object
	r.EachChild("c", func(o *object.Object) { all = append(all, o) })
	for what, got := range map[string]struct {
		found []*object.Object
		want  []string
	}{
		"children of a parent":         {r.Children("c", "1"), []string{"a"}},
		"children of parents by name":  {r.ChildrenNamed("c", types.NamespacedName{Name: "one"}), []string{"a"}},
		"children in a namespace":      {r.ChildrenNamed("c", types.NamespacedName{Namespace: "ns", Name: "one"}), []string{"a"}},
		"all children of a controller": {all, []string{"a", "b"}},
	} {
		names := []string{}
		for _, o := range got.found {
			names = append(names, o.Name())
		}
		slices.Sort(names)
		if diff := cmp.Diff(got.want, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func TestChildrenNamedFindsOtherNamespaces(t *testing.T) {
	r := newRecorder(t, Want{Role: Child})
	far := func(name, namespace, parent string) *object.Object {
		content := child(name, "u-"+name, 1).Content()
		metadata, _ := content["metadata"].(map[string]any)
		metadata["namespace"] = namespace
		metadata["labels"] = map[string]any{v1.LabelController: "c", v1.LabelParentUID: "1"}
		metadata["annotations"] = map[string]any{v1.AnnotationParent: parent}
		return pack(content)
	}
	if err := r.Replace([]any{far("a", "far", "ns/one"), far("b", "", "ns/one"), far("c", "ns", "other/one"), far("d", "ns", "one"), far("e", "far", "one")}, "10"); err != nil {
		t.Fatal(err)
	}
	for parent, want := range map[types.NamespacedName][]string{
		{Namespace: "ns", Name: "one"}:    {"a", "b", "d"},
		{Namespace: "other", Name: "one"}: {"c"},
		{Namespace: "far", Name: "one"}:   {"e"},
		{Name: "one"}:                     {"a", "b", "c", "d", "e"},
		{Namespace: "ns", Name: "ns/one"}: nil,
	} {
		var got []string
		for _, o := range r.ChildrenNamed("c", parent) {
			got = append(got, o.Name())
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("children of %s (-want +got):\n%s", parent, diff)
		}
	}
}

func TestCRDsWithSameHashAreDistinguished(t *testing.T) {
	r := newRecorder(t, Want{Role: Definition})
	r.index.hashes = func(*object.Object) places { return places{chains: [indexes]uint64{byParent: hashOf("g", "K")}} }
	other := pack(map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"group": "g", "names": map[string]any{"kind": "Other"}}})
	if err := r.Replace([]any{other}, "10"); err != nil {
		t.Fatal(err)
	}
	if got := r.Definitions(schema.GroupKind{Group: "g", Kind: "K"}); len(got) > 0 {
		t.Errorf("%d definitions of another kind", len(got))
	}
}

func TestUnlabeledObjectsAreNotIndexed(t *testing.T) {
	r := newRecorder(t, Want{Role: Child})
	if err := r.Replace([]any{child("a", "1", 9), child("b", "2", 9, v1.LabelController), child("c", "3", 9)}, "10"); err != nil {
		t.Fatal(err)
	}
	chains := func() int {
		return len(r.index.heads[byParent]) + len(r.index.heads[byName]) + len(r.index.heads[byController])
	}
	if n := chains(); n != 3 {
		t.Errorf("%d chains for the children of one parent, want 3", n)
	}
	for i, name := range []string{"a", "c"} {
		if err := r.Update(child(name, "1", 11+i, v1.LabelController)); err != nil {
			t.Fatal(err)
		}
		it := r.items[types.NamespacedName{Namespace: "ns", Name: name}]
		if it.links != [indexes]link{} {
			t.Errorf("%s has links %v after the label went, want none", name, it.links)
		}
	}
	if n := chains(); n != 0 {
		t.Errorf("%d chains after all labels went, want none", n)
	}
}

func TestEachStopsWhenCallbackReturnsFalse(t *testing.T) {
	r := newRecorder(t, Want{Role: Parent})
	if err := r.Replace([]any{child("a", "1", 9), child("b", "2", 9)}, "10"); err != nil {
		t.Fatal(err)
	}
	for _, goOn := range []bool{true, false} {
		want, got := 1, 0
		if goOn {
			want = 2
		}
		r.Each(func(*object.Object) bool { got++; return goOn })
		if got != want {
			t.Errorf("going on is %v: %d objects, want %d", goOn, got, want)
		}
	}
}

func TestFactsAreKeptForUnchangedObject(t *testing.T) {
	r := newRecorder(t, Want{Role: Child})
	if err := r.Replace([]any{child("a", "1", 9)}, "10"); err != nil {
		t.Fatal(err)
	}
	name := types.NamespacedName{Namespace: "ns", Name: "a"}
	r.Get(name).Note(object.Covered)
	if err := r.Update(child("a", "1", 11)); err != nil {
		t.Fatal(err)
	}
	if !r.Get(name).Noted(object.Covered) {
		t.Error("what was found out has to be found out again")
	}
}

func TestOwnWriteIsDroppedWhenFieldSelectorNoLongerMatches(t *testing.T) {
	r := newRecorder(t, Want{Role: Child, Fields: "spec.x=y"})
	if err := r.Replace([]any{child("a", "1", 9)}, "10"); err != nil {
		t.Fatal(err)
	}
	r.Put(child("a", "1", 13), "me")
	if err := r.Delete(child("a", "1", 12)); err != nil {
		t.Fatal(err)
	}
	if got := r.content(); len(got) > 0 {
		t.Errorf("%v stays, which may match no longer", got)
	}
}

func TestDeletionOfPredecessorKeepsOwnWrite(t *testing.T) {
	r := newRecorder(t, Want{Role: Child, Fields: "spec.x=y"})
	if err := r.Replace([]any{child("a", "1", 9)}, "10"); err != nil {
		t.Fatal(err)
	}
	r.Put(child("a", "2", 13), "me")
	if err := r.Delete(child("a", "1", 12)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a@13"}, r.content()); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

func TestWantString(t *testing.T) {
	apps := schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "apps"}
	for want, text := range map[Want]string{
		{Resource: apps}: "apps.example.org/v1",
		{Resource: apps, Namespace: "ns", Labels: "a=b", Fields: "c=d", As: "them"}: `apps.example.org/v1 in ns labels "a=b" fields "c=d" as them`,
	} {
		if got := want.String(); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
	}
}
