package model

import "testing"

func TestPodLogsVisibleToParent(t *testing.T) {
	w := NewWorld("hush")
	id := ParentID{"Reader", "chaos-a", "p"}
	w.Apply(Action{Verb: SetParent, ID: id, Parent: Parent{Count: 1}})
	w.Apply(Action{Verb: SetPod, Child: PodID("chaos-a", 1), Text: "own"})
	w.Apply(Action{Verb: SetPod, Child: PodID("chaos-b", 1), Text: "of another namespace"})
	if got := w.Told(id); got != "own" {
		t.Errorf("it sees %q", got)
	}
	w.Apply(Action{Verb: DeletePod, Child: PodID("chaos-a", 1)})
	if got := w.Told(id); got != "" {
		t.Errorf("it sees %q of a Pod that is gone", got)
	}
}
