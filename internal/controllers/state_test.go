package controllers

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestStatesAreTheSame(t *testing.T) {
	for why, row := range map[string]struct {
		one, other *state
		want       bool
	}{
		"neither runs":             {nil, nil, true},
		"only the other runs":      {nil, &state{}, false},
		"only the one runs":        {&state{}, nil, false},
		"both run alike":           {&state{}, &state{}, true},
		"another generation":       {&state{facts: facts{generation: 1}}, &state{facts: facts{generation: 2}}, false},
		"namespaces have failed":   {&state{namespaces: cacheState{failures: 1}}, &state{}, false},
		"other parents":            {&state{parents: map[string]cacheState{"": {}}}, &state{}, false},
		"parents have failed":      {&state{parents: map[string]cacheState{"": {failures: 1}}}, &state{parents: map[string]cacheState{"": {}}}, false},
		"the same children, alike": {childState(sourceState{lost: true}), childState(sourceState{lost: true}), true},
		"children are lost":        {childState(sourceState{lost: true}), childState(sourceState{}), false},
		"another revision":         {childState(sourceState{revision: "1"}), childState(sourceState{}), false},
		"children in a namespace":  {childState(sourceState{caches: map[string]cacheState{"ns": {}}}), childState(sourceState{}), false},
	} {
		if got := row.one.equal(row.other); got != row.want {
			t.Errorf("%s: %v, want %v", why, got, row.want)
		}
	}
}

// childState is a state with children of one kind.
func childState(s sourceState) *state {
	return &state{children: map[schema.GroupKind]sourceState{{Kind: "ConfigMap"}: s}}
}
