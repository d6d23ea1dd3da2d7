package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestStateEqual(t *testing.T) {
	for why, row := range map[string]struct {
		one, other *State
		want       bool
	}{
		"neither runs":             {nil, nil, true},
		"only the other runs":      {nil, &State{}, false},
		"only the one runs":        {&State{}, nil, false},
		"both run alike":           {&State{}, &State{}, true},
		"another spec":             {&State{facts: facts{spec: &v1.TemplateControllerSpec{}}}, &State{facts: facts{spec: &v1.TemplateControllerSpec{}}}, false},
		"namespaces have failed":   {&State{namespaces: cacheState{failures: 1}}, &State{}, false},
		"other parents":            {&State{parents: map[string]cacheState{"": {}}}, &State{}, false},
		"parents have failed":      {&State{parents: map[string]cacheState{"": {failures: 1}}}, &State{parents: map[string]cacheState{"": {}}}, false},
		"the same children, alike": {childState(sourceState{lost: true}), childState(sourceState{lost: true}), true},
		"children are lost":        {childState(sourceState{lost: true}), childState(sourceState{}), false},
		"their kind is recorded":   {childState(sourceState{recorded: true}), childState(sourceState{}), false},
		"another revision":         {childState(sourceState{revision: "1"}), childState(sourceState{}), false},
		"children in a namespace":  {childState(sourceState{caches: map[string]cacheState{"ns": {}}}), childState(sourceState{}), false},
	} {
		if got := row.one.Equal(row.other); got != row.want {
			t.Errorf("%s: %v, want %v", why, got, row.want)
		}
	}
}

// childState returns a state with children of one kind.
func childState(s sourceState) *State {
	return &State{children: map[schema.GroupKind]sourceState{{Kind: "ConfigMap"}: s}}
}
