package watch

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
)

// child is a ConfigMap created by the controller "c", at a resource version.
func child(name, uid string, version int, labels ...string) *object.Object {
	set := map[string]any{v1.LabelController: "c", v1.LabelParentUID: "p"}
	for _, l := range labels {
		delete(set, l)
	}
	return pack(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": "ns", "name": name, "uid": uid, "resourceVersion": fmt.Sprint(version), "labels": set},
	})
}

func pack(content map[string]any) *object.Object {
	o, err := object.From(content)
	if err != nil {
		panic(err)
	}
	return o
}

// recorder is a cache that records its events.
type recorder struct {
	*Cache
	events []string
}

func newRecorder(t testing.TB, want Want) *recorder {
	t.Helper()
	r := &recorder{}
	cache, err := NewCache(want, func(e Event) { r.events = append(r.events, describe(e)) }, func() {})
	if err != nil {
		t.Fatal(err)
	}
	r.Cache = cache
	return r
}

func describe(e Event) string {
	side := func(o *object.Object) string {
		if o == nil {
			return "-"
		}
		return o.Name() + "@" + o.ResourceVersion()
	}
	text := side(e.Old) + ">" + side(e.New)
	if e.Writer != "" {
		text += " by " + e.Writer
	}
	return text
}

func (r *recorder) content() []string {
	out := []string{}
	r.Each(func(o *object.Object) bool {
		text := o.Name() + "@" + o.ResourceVersion()
		if o.Deleting() {
			text += " deleting"
		}
		out = append(out, text)
		return true
	})
	slices.Sort(out)
	return out
}

// TestLateWriteResponseKeepsFacts delivers the watch event before the response to a write of this process, which has more facts.
func TestLateWriteResponseKeepsFacts(t *testing.T) {
	for why, row := range map[string]struct {
		there, answer int
		want          bool
	}{
		"the same state":                               {13, 13, true},
		"the watch has brought a later one":            {14, 13, true},
		"the watch has not brought it, and it is gone": {12, 13, false},
	} {
		r := newRecorder(t, Want{Role: Child})
		for _, err := range []error{r.Replace([]any{child("a", "1", row.there)}, "10"), r.Bookmark("20")} {
			if err != nil {
				t.Fatal(err)
			}
		}
		late := child("a", "1", row.answer)
		late.Note(object.Ours)
		r.Put(late, "me")
		if got := r.Get(late.Key()); got.Noted(object.Ours) != row.want || got.Version() != uint64(row.there) {
			t.Errorf("%s: what was known is known: %v, of version %d", why, got.Noted(object.Ours), got.Version())
		}
	}
}

func TestCacheMergesOwnWrites(t *testing.T) {
	list := func(version string, objects ...*object.Object) func(*recorder) error {
		return func(r *recorder) error {
			var all []any
			for _, o := range objects {
				all = append(all, o)
			}
			return r.Replace(all, version)
		}
	}
	put := func(o *object.Object) func(*recorder) error {
		return func(r *recorder) error { r.Put(o, "me"); return nil }
	}
	update := func(o *object.Object) func(*recorder) error {
		return func(r *recorder) error { return r.Update(o) }
	}
	gone := func(o *object.Object) func(*recorder) error {
		return func(r *recorder) error { return r.Delete(o) }
	}
	deleting := func(name, uid string) func(*recorder) error {
		return func(r *recorder) error {
			r.Deleting(types.NamespacedName{Namespace: "ns", Name: name}, types.UID(uid))
			return nil
		}
	}
	bookmark := func(version string) func(*recorder) error {
		return func(r *recorder) error { return r.Bookmark(version) }
	}
	type steps = []func(*recorder) error
	for why, row := range map[string]struct {
		steps  steps
		want   []string
		events []string
	}{
		"what was created is there at once, and its event names the writer": {
			steps{list("10"), put(child("a", "1", 11)), update(child("a", "1", 11))},
			[]string{"a@11"}, []string{"a@11>a@11 by me"},
		},
		"an event that repeats what is known is none": {
			steps{list("10"), update(child("a", "1", 11)), update(child("a", "1", 11))},
			[]string{"a@11"}, []string{"->a@11"},
		},
		"an event from before an own write does not undo it": {
			steps{list("10", child("a", "1", 9)), put(child("a", "1", 13)), update(child("a", "1", 12))},
			[]string{"a@13"}, nil,
		},
		"an event from after an own write replaces it": {
			steps{list("10", child("a", "1", 9)), put(child("a", "1", 13)), update(child("a", "1", 14))},
			[]string{"a@14"}, []string{"a@13>a@14"},
		},
		"an object that was created and deleted before the answer came back stays away": {
			steps{list("10"), update(child("a", "1", 11)), gone(child("a", "1", 12)), put(child("a", "1", 11))},
			[]string{}, []string{"->a@11", "a@11>-"},
		},
		"a bookmark says how far the watch is, too": {
			steps{list("10"), bookmark("20"), put(child("a", "1", 15))},
			[]string{}, nil,
		},
		"a list from before an own write keeps it": {
			steps{list("10"), put(child("a", "1", 13)), list("12")},
			[]string{"a@13"}, nil,
		},
		"a list from after an own write that lacks it says that it is gone": {
			steps{list("10"), put(child("a", "1", 13)), list("14")},
			[]string{}, []string{"a@13>-"},
		},
		"an object that is being deleted by us looks so until it is gone": {
			steps{list("10", child("a", "1", 9)), deleting("a", "1"), update(child("a", "1", 11))},
			[]string{"a@11 deleting"}, []string{"a@9>a@11"},
		},
		"stale deletion of an earlier object with the same name": {
			steps{list("10", child("a", "1", 9)), deleting("a", "1"), gone(child("a", "1", 11)), update(child("a", "2", 12))},
			[]string{"a@12"}, []string{"a@9>-", "->a@12"},
		},
		"asking to delete another object than the one that is there changes nothing": {
			steps{list("10", child("a", "1", 9)), deleting("a", "2")},
			[]string{"a@9"}, nil,
		},
		"a departure from before an own write that brings the object back is overtaken": {
			steps{list("10", child("a", "1", 9)), put(child("a", "1", 13)), gone(child("a", "1", 12))},
			[]string{"a@13"}, nil,
		},
		"a departure of another object, whose name an own write has taken, is told": {
			steps{list("10", child("a", "1", 9)), put(child("a", "2", 13)), gone(child("a", "1", 12)), update(child("a", "2", 13))},
			[]string{"a@13"}, []string{"a@12>-", "a@13>a@13 by me"},
		},
		"an answer that is as old as the list brings nothing": {
			steps{list("10"), put(child("a", "1", 10))}, []string{}, nil,
		},
		"of two answers the later one stays, in whatever order they come": {
			steps{list("10"), put(child("a", "1", 13)), put(child("a", "1", 12))}, []string{"a@13"}, nil,
		},
		"an own write that changes nothing is not that of a second writer": {
			steps{list("10"), put(child("a", "1", 13)), func(r *recorder) error { r.Put(child("a", "1", 13), "you"); return nil }, update(child("a", "1", 13))},
			[]string{"a@13"}, []string{"a@13>a@13 by me"},
		},
		"an answer from before a change of another object brings nothing": {
			steps{list("10"), update(child("b", "2", 20)), put(child("a", "1", 15))}, []string{"b@20"}, []string{"->b@20"},
		},
		"write response older than the deletion of another object": {
			steps{list("10"), gone(child("b", "2", 20)), put(child("a", "1", 15))}, []string{}, nil,
		},
		"list with an older resource version": {
			steps{list("20"), list("10"), put(child("a", "1", 15))}, []string{"a@15"}, nil,
		},
		"non-numeric bookmark": {
			steps{list("10"), bookmark("99999999999999999999999"), put(child("a", "1", 15))}, []string{"a@15"}, nil,
		},
		"second list reports changes only": {
			steps{list("10", child("a", "1", 9), child("b", "2", 9)), list("12", child("a", "1", 9), child("b", "2", 11))},
			[]string{"a@9", "b@11"}, []string{"b@9>b@11"},
		},
		"a list that lacks what the watch has brought says that it is gone": {
			steps{list("10"), update(child("a", "1", 15)), list("12")}, []string{}, []string{"->a@15", "a@15>-"},
		},
		"a list as old as an own write that lacks it says that it is gone": {
			steps{list("10"), put(child("a", "1", 12)), list("12")}, []string{}, []string{"a@12>-"},
		},
		"what the watch brings is believed, also an older state": {
			steps{list("10"), update(child("a", "1", 15)), update(child("a", "1", 12))}, []string{"a@12"}, []string{"->a@15", "a@15>a@12"},
		},
		"what the watch has brought is gone when it says so": {
			steps{list("10"), update(child("a", "1", 15)), gone(child("a", "1", 12))}, []string{}, []string{"->a@15", "a@15>-"},
		},
		"a departure as old as an own write is that of the same object": {
			steps{list("10"), put(child("a", "1", 13)), gone(child("a", "1", 13))}, []string{}, []string{"a@13>-"},
		},
		"a departure from after an own write ends it": {
			steps{list("10"), put(child("a", "1", 13)), gone(child("a", "1", 14))}, []string{}, []string{"a@13>-"},
		},
		"asking to delete what is not there changes nothing": {
			steps{list("10"), deleting("a", "1")}, []string{}, nil,
		},
		"an object that takes the place of one that is being deleted is not": {
			steps{list("10", child("a", "1", 9)), deleting("a", "1"), update(child("a", "2", 12))}, []string{"a@12"}, []string{"a@9>a@12"},
		},
		"an own write that does not match the selector takes the object out": {
			steps{list("10", child("a", "1", 9)), put(child("a", "1", 13, v1.LabelController))},
			[]string{}, nil,
		},
	} {
		t.Run(why, func(t *testing.T) {
			r := newRecorder(t, Want{Role: Child, Labels: v1.LabelController})
			for _, step := range row.steps {
				if err := step(r); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(row.want, r.content()); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.events, r.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCacheDoesNotModifyReturnedObjects(t *testing.T) {
	r := newRecorder(t, Want{Role: Child})
	if err := r.Replace([]any{child("a", "1", 9)}, "10"); err != nil {
		t.Fatal(err)
	}
	name := types.NamespacedName{Namespace: "ns", Name: "a"}
	held := r.Get(name)
	before := held.Content()
	r.Deleting(name, "1")
	if diff := cmp.Diff(before, held.Content()); diff != "" {
		t.Errorf("the object of a reader changed:\n%s", diff)
	}
	if !r.Get(name).Deleting() {
		t.Error("a later reader does not see the deletion")
	}
}

func TestIndexFollowsLabelChanges(t *testing.T) {
	r := newRecorder(t, Want{Role: Child})
	if err := r.Replace([]any{child("a", "1", 9), child("b", "2", 9, v1.LabelController)}, "10"); err != nil {
		t.Fatal(err)
	}
	if got := len(r.Children("c", "p")); got != 1 {
		t.Errorf("%d children are filed under the parent, want 1: b has no controller", got)
	}
	if err := r.Update(child("a", "1", 11, v1.LabelController)); err != nil {
		t.Fatal(err)
	}
	if got := len(r.Children("c", "p")); got != 0 {
		t.Errorf("%d children are filed under the parent after the label went, want 0", got)
	}
}

func TestCacheReportsStateChangesOnce(t *testing.T) {
	changes := 0
	cache, err := NewCache(Want{}, func(Event) {}, func() { changes++ })
	if err != nil {
		t.Fatal(err)
	}
	failure := fmt.Errorf("forbidden")
	cache.Fail(failure)
	cache.Fail(fmt.Errorf("forbidden"))
	if changes != 1 {
		t.Errorf("%d changes of state after two equal failures, want 1", changes)
	}
	if err := cache.Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	if changes != 2 || !cache.Synced() || cache.Err() != nil {
		t.Errorf("changes %d, synced %v, err %v; want 2, true, nil", changes, cache.Synced(), cache.Err())
	}
	if err := cache.Replace(nil, "2"); err != nil || changes != 2 {
		t.Fatalf("err %v, %d changes after another list, want 2", err, changes)
	}
	cache.Fail(failure)
	resumed(t, cache)
	resumed(t, cache)
	if changes != 5 || cache.Err() != nil || cache.Failures() != 2 {
		t.Errorf("changes %d, err %v, failures %d; want 5, nil, 2", changes, cache.Err(), cache.Failures())
	}
	cache.Fail(failure)
	cache.Fail(errors.New("no answer"))
	if changes != 7 || cache.Failures() != 3 {
		t.Errorf("changes %d, failures %d after two unlike failures; want 7, 3", changes, cache.Failures())
	}
	if err := cache.Replace(nil, "3"); err != nil || changes != 8 {
		t.Errorf("err %v, %d changes after a list that went well, want 8", err, changes)
	}
	if _, err := NewCache(Want{Labels: "=="}, nil, nil); err == nil {
		t.Error("a selector that is none is taken")
	}
}

func TestIndexFindsChildrenOfOneParent(t *testing.T) {
	r := newRecorder(t, Want{Role: Child})
	owned := func(name, parent, uid string, version int) *object.Object {
		o := child(name, "u-"+name, version).Content()
		metadata := o["metadata"].(map[string]any)
		metadata["labels"].(map[string]any)[v1.LabelParentUID] = uid
		metadata["ownerReferences"] = []any{map[string]any{"apiVersion": "x/v1", "kind": "X", "name": parent, "uid": uid, "controller": true}}
		return pack(o)
	}
	all := []any{owned("a", "one", "1", 1), owned("b", "one", "1", 1), owned("c", "one", "0", 1), owned("d", "two", "2", 1)}
	if err := r.Replace(all, "10"); err != nil {
		t.Fatal(err)
	}
	names := func(objects []*object.Object) []string {
		out := []string{}
		for _, o := range objects {
			out = append(out, o.Name())
		}
		slices.Sort(out)
		return out
	}
	want := func(what string, got []*object.Object, want ...string) {
		t.Helper()
		if diff := cmp.Diff(append([]string{}, want...), names(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	want("children of one", r.Children("c", "1"), "a", "b")
	want("children of any object called one", r.ChildrenNamed("c", types.NamespacedName{Namespace: "ns", Name: "one"}), "a", "b", "c")
	want("children of any object called one, which has no namespace", r.ChildrenNamed("c", types.NamespacedName{Name: "one"}), "a", "b", "c")
	want("children of one in another namespace", r.ChildrenNamed("c", types.NamespacedName{Namespace: "other", Name: "one"}))
	want("children of another controller", r.Children("d", "1"))
	var made []*object.Object
	r.EachChild("c", func(o *object.Object) { made = append(made, o) })
	want("children of the controller", made, "a", "b", "c", "d")
	for _, o := range []*object.Object{owned("b", "two", "2", 11), owned("d", "two", "2", 12)} {
		if err := r.Update(o); err != nil {
			t.Fatal(err)
		}
	}
	want("children of one, after b has moved", r.Children("c", "1"), "a")
	want("children of two, after b has moved", r.Children("c", "2"), "b", "d")
	for _, name := range []string{"d", "a", "b", "c"} {
		if err := r.Delete(owned(name, "", "", 20)); err != nil {
			t.Fatal(err)
		}
	}
	want("children of two, after all have gone", r.Children("c", "2"))
	if n := len(r.index.heads[byParent]) + len(r.index.heads[byName]) + len(r.index.heads[byController]); n != 0 {
		t.Errorf("%d chains are left over", n)
	}
}

func TestCRDsAreTrimmedAndIndexed(t *testing.T) {
	definition := pack(map[string]any{
		"metadata": map[string]any{"name": "x", "annotations": map[string]any{"a": "long"}},
		"spec": map[string]any{"group": "g", "names": map[string]any{"kind": "K"}, "conversion": map[string]any{}, "versions": []any{map[string]any{
			"name": "v1", "additionalPrinterColumns": []any{}, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"description": "long", "properties": map[string]any{"spec": map[string]any{"type": "object"}, "status": map[string]any{"type": "object"}},
			}},
		}}},
	})
	want := map[string]any{
		"metadata": map[string]any{"name": "x"},
		"spec": map[string]any{"group": "g", "names": map[string]any{"kind": "K"}, "versions": []any{map[string]any{
			"name": "v1", "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"properties": map[string]any{"status": map[string]any{"type": "object"}},
			}},
		}}},
	}
	r := newRecorder(t, Want{Role: Definition})
	transformed := func() error {
		trimmed, err := r.Transformer()(definition)
		if err != nil {
			return err
		}
		return r.Replace([]any{trimmed}, "1")
	}
	for how, bring := range map[string]func() error{
		"by a watch-list": transformed,
		"by a list":       func() error { return r.Replace([]any{definition}, "1") },
		"by an event":     func() error { return r.Update(definition) },
	} {
		if err := bring(); err != nil {
			t.Fatal(err)
		}
		found := r.Definitions(schema.GroupKind{Group: "g", Kind: "K"})
		if len(found) != 1 {
			t.Fatalf("%s: %d definitions of the kind, want 1", how, len(found))
		}
		if diff := cmp.Diff(want, found[0].Content()); diff != "" {
			t.Errorf("%s: the definition (-want +got):\n%s", how, diff)
		}
	}
}

func TestDefinedKindsAreRememberedAfterCRDDeletion(t *testing.T) {
	definition := pack(map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"group": "g", "names": map[string]any{"kind": "K"}}})
	is, other := schema.GroupKind{Group: "g", Kind: "K"}, schema.GroupKind{Group: "g", Kind: "L"}
	for how, end := range map[string]func(*recorder) error{
		"by an event": func(r *recorder) error { return r.Delete(definition) },
		"by a list":   func(r *recorder) error { return r.Replace(nil, "9") },
	} {
		r := newRecorder(t, Want{Role: Definition})
		if err := r.Replace([]any{definition}, "1"); err != nil {
			t.Fatal(err)
		}
		if err := end(r); err != nil {
			t.Fatal(err)
		}
		if len(r.Definitions(is)) > 0 || !r.EverDefined(is) || r.EverDefined(other) {
			t.Errorf("gone %s: %v, remembered %v; another one that was never there: %v", how, r.Definitions(is), r.EverDefined(is), r.EverDefined(other))
		}
	}
}

func TestServeFollowsCRDVersions(t *testing.T) {
	define := func(kind string, served bool) *object.Object {
		return pack(map[string]any{"metadata": map[string]any{"name": kind}, "spec": map[string]any{
			"group": "g", "names": map[string]any{"kind": kind}, "versions": []any{map[string]any{"name": "v1", "served": true}, map[string]any{"name": "v2", "served": served}},
		}})
	}
	r := newRecorder(t, Want{Role: Definition})
	if err := r.Replace([]any{define("A", false), define("B", true)}, "1"); err != nil {
		t.Fatal(err)
	}
	for gv, want := range map[schema.GroupVersion]bool{{Group: "g", Version: "v1"}: true, {Group: "g", Version: "v2"}: true, {Group: "g", Version: "v3"}: false, {Group: "h", Version: "v1"}: false} {
		if got := r.Serve(gv); got != want {
			t.Errorf("%s: %v, want %v", gv, got, want)
		}
	}
	if err := r.Delete(define("B", true)); err != nil {
		t.Fatal(err)
	}
	if r.Serve(schema.GroupVersion{Group: "g", Version: "v2"}) || !r.Serve(schema.GroupVersion{Group: "g", Version: "v1"}) {
		t.Error("one of two definitions is gone: want v1, not v2")
	}
}

func TestCacheRejectsNonObjects(t *testing.T) {
	r := newRecorder(t, Want{Role: Child})
	_, err := r.Transformer()("x")
	for what, err := range map[string]error{
		"transformed": err, "added": r.Add("x"), "deleted": r.Delete("x"), "listed": r.Replace([]any{"x"}, "1"),
	} {
		if err == nil || errors.Is(err, ErrDefect) {
			t.Errorf("%s: err = %v", what, err)
		}
	}
}

func TestPanicInCacheReturnsErrorAndReleasesLock(t *testing.T) {
	c, err := NewCache(Want{Resource: configMaps, Role: Child}, func(Event) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	index := c.index
	c.index = newIndex(Child)
	c.index.hashes = nil
	for what, do := range map[string]func() error{
		"an object that comes": func() error { return c.Update(child("a", "1", 2)) },
		"a list":               func() error { return c.Replace([]any{child("b", "1", 3)}, "3") },
	} {
		if err := do(); !errors.Is(err, ErrDefect) || !errors.Is(c.Err(), ErrDefect) {
			t.Errorf("%s: error %v, the cache's %v; want ErrDefect", what, err, c.Err())
		}
	}
	c.index = index
	resumed(t, c) // the next watch continues where the last one ended, and does not repeat events
	if !errors.Is(c.Err(), ErrDefect) || c.resumption() != relist {
		t.Errorf("after the next watch has begun: the cache's error %v; want ErrDefect", c.Err())
	}
	c.Fail(errors.New("no connection"))
	resumed(t, c)
	if !errors.Is(c.Err(), ErrDefect) {
		t.Errorf("after a failure that is over: the cache's error %v; want ErrDefect", c.Err())
	}
	if err := c.Replace([]any{child("c", "1", 4)}, "4"); err != nil || c.Err() != nil || c.resumption() != resume {
		t.Errorf("the next list: error %v, the cache's %v; want none", err, c.Err())
	}
}

func TestUnindexableObjectDoesNotAffectOthers(t *testing.T) {
	for why, row := range map[string]struct {
		bring func(*Cache) error
		want  int
	}{
		"a new object":              {func(c *Cache) error { return c.Update(child("bad", "3", 5)) }, 2},
		"a new state of one":        {func(c *Cache) error { return c.Update(child("a", "1", 5, "bad")) }, 2},
		"the same, as an own write": {func(c *Cache) error { c.Put(child("bad", "3", 5), "me"); return nil }, 2},
		"a list": {func(c *Cache) error {
			return c.Replace([]any{child("a", "1", 2), child("b", "2", 2), child("bad", "3", 5)}, "5")
		}, 2},
	} {
		t.Run(why, func(t *testing.T) {
			c := newRecorder(t, Want{Resource: configMaps, Role: Child}).Cache
			if err := c.Replace([]any{child("a", "1", 2), child("b", "2", 2)}, "2"); err != nil {
				t.Fatal(err)
			}
			c.index.hashes = func(o *object.Object) places {
				if o.Name() == "bad" || o.Version() == 5 {
					panic("no hash")
				}
				return childHashes(o)
			}
			err := func() (err error) {
				defer c.recovered(&err)
				return row.bring(c)
			}()
			if !errors.Is(err, ErrDefect) {
				t.Fatalf("error %v, want ErrDefect", err)
			}
			c.index.hashes = childHashes
			for _, gone := range []string{"bad", "a"} {
				if err := c.Delete(child(gone, "1", 6)); err != nil {
					t.Fatal(err)
				}
			}
			if got := c.Children("c", "p"); len(got) != 1 || got[0].Name() != "b" {
				t.Errorf("children %v are filed after the others have gone, want b", got)
			}
		})
	}
}
