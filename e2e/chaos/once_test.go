package main

import (
	"testing"

	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/audit"
)

func TestRepeatedWritesNeedReasons(t *testing.T) {
	id := model.ChildID{Resource: "configmaps", Namespace: "chaos-a", Name: "paced-p1-e2"}
	parent := func(name string) model.Action {
		return model.Action{Verb: model.SetParent, ID: model.ParentID{Kind: "Paced", Namespace: "chaos-a", Name: name}}
	}
	for why, row := range map[string]struct {
		actions []model.Action
		faults  []model.Action
		retries int
		want    int
	}{
		"a new object":                  {want: 1},
		"its parent changes":            {actions: []model.Action{parent("p1")}, want: 2},
		"another parent changes":        {actions: []model.Action{parent("p")}, want: 1},
		"the TemplateController does":   {actions: []model.Action{{Verb: model.SetController, Shape: model.Paced}}, want: 2},
		"it is deleted":                 {actions: []model.Action{{Verb: model.DeleteChild, Child: id}}, want: 2},
		"another object is deleted":     {actions: []model.Action{{Verb: model.DeleteChild, Child: model.ChildID{Name: "paced-p1"}}}, want: 1},
		"a fault may hide a write":      {faults: []model.Action{{Verb: model.DropAnswers}}, want: 2},
		"a halted rollout is continued": {retries: 2, want: 3},
	} {
		t.Run(why, func(t *testing.T) {
			round := &model.Round{Users: map[string][]model.Action{"Paced": row.actions}, Faults: [][]model.Action{row.faults}}
			var e audit.Event
			e.ObjectRef.Resource, e.ObjectRef.Namespace, e.ObjectRef.Name = id.Resource, id.Namespace, id.Name
			var events []audit.Event
			for n := range 5 {
				if err := repeated(events, round, row.retries); (err != nil) != (n > row.want) {
					t.Errorf("%d writes: %v, want an error after %d", n, err, row.want)
				}
				events = append(events, e)
			}
		})
	}
}
