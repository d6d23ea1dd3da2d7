package model

import "testing"

func TestWorldKnowsCreatedKinds(t *testing.T) {
	w := NewWorld("hush")
	knows := func(want bool, why string) {
		t.Helper()
		w.Learn()
		if got := w.Knows(Scoped, "configmaps"); got != want {
			t.Errorf("%s: it knows of ConfigMaps: %v", why, got)
		}
	}
	c := w.Controllers[Scoped]
	knows(false, "there is no parent")
	w.Apply(Action{Verb: SetParent, ID: ParentID{"One", Namespaces[0], "p"}})
	knows(true, "there is one")
	w.Apply(Action{Verb: CloseNamespace, Namespace: Namespaces[0]})
	knows(true, "there is none any more")
	absent := c
	absent.Absent = true
	w.Apply(Action{Verb: RemoveController, Shape: Scoped, Controller: absent})
	w.Apply(Action{Verb: SetController, Shape: Scoped, Controller: c})
	knows(false, "it is another one, and none of its parents is there")
	w.Apply(Action{Verb: OpenNamespace, Namespace: Namespaces[0]})
	knows(true, "one of its parents is there")
	w.Apply(Action{Verb: ReplaceController, Shape: Scoped, Controller: Controller{Broken: true}})
	knows(false, "it is another one, and makes nothing")
}
