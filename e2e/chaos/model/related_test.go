package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReaderSelectsSources(t *testing.T) {
	w := NewWorld("hush")
	for n, s := range []Source{{Topic: "0", Text: "first"}, {Text: "none"}, {Topic: "0", Text: "third"}} {
		w.Apply(Action{Verb: SetSource, Child: SourceID("chaos-b", n), Source: s})
	}
	w.Apply(Action{Verb: SetSource, Child: SourceID("chaos-a", 4), Source: Source{Topic: "0", Text: "far"}})
	w.Apply(Action{Verb: SetParent, ID: ParentID{"Reader", "chaos-b", "p"}, Parent: Parent{Text: "t", Count: 2}})
	see := func(why, named, alike string) {
		t.Helper()
		want := map[string]string{"text": "t", "value": "first", "edition": "0", "named": named, "alike": alike}
		if diff := cmp.Diff(want, w.Children()[0].Data); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
	}
	see("by name in its namespace, by label in all", "third", "far|first|third")
	w.Apply(Action{Verb: DeleteSource, Child: SourceID("chaos-b", 2)})
	see("one is gone", "", "far|first")
	w.Apply(Action{Verb: SetParent, ID: ParentID{"Reader", "chaos-b", "p"}, Parent: Parent{Text: "t", Count: 1}})
	see("the parent selects others", "none", "")
}

func TestOrderedAndCrossNamespaceChildren(t *testing.T) {
	w := NewWorld("hush")
	for _, namespace := range Namespaces {
		w.Apply(Action{Verb: SetParent, ID: ParentID{"Wide", namespace, "p"}})
		w.Apply(Action{Verb: SetParent, ID: ParentID{"Wide", namespace, "q"}, Parent: Parent{Count: 1}})
	}
	w.Apply(Action{Verb: SetParent, ID: ParentID{"Chain", "chaos-a", "p"}})
	var got []string
	for _, c := range w.Children() {
		if c.Far && c.Shared != (c.ID.Name == "wide-shared-p") {
			t.Errorf("%s is shared: %v", c.ID, c.Shared)
		}
		got = append(got, c.ID.Namespace+"/"+c.ID.Name)
	}
	want := []string{
		"chaos-a/chain-p", "chaos-a/chain-p-web", "chaos-a/chain-p-last",
		"chaos-a/wide-p", "chaos-far/wide-shared-p", "chaos-a/wide-q", "chaos-far/wide-chaos-a-q",
		"chaos-b/wide-p", "chaos-far/wide-shared-p", "chaos-b/wide-q", "chaos-far/wide-chaos-b-q",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
}
