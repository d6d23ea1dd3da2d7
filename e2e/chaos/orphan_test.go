package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

func TestChildrenThatGoAstray(t *testing.T) {
	id := model.ChildID{Resource: "configmaps", Namespace: "chaos-a", Name: "chain-p"}
	object := func(uid types.UID, owners ...types.UID) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetUID(uid)
		var refs []metav1.OwnerReference
		for _, owner := range owners {
			refs = append(refs, metav1.OwnerReference{UID: owner})
		}
		o.SetOwnerReferences(refs)
		return o
	}
	deleting := object("a")
	now := metav1.Now()
	deleting.SetDeletionTimestamp(&now)
	for why, row := range map[string]struct {
		after *unstructured.Unstructured
		stay  bool
		want  bool
	}{
		"it is there, and nobody owns it":             {object("a"), true, false},
		"somebody else owns it":                       {object("a", "other"), true, false},
		"it has gone":                                 {nil, true, true},
		"it is on its way":                            {deleting, true, true},
		"it is another one":                           {object("b"), true, true},
		"it has gone, and was to be replaced anyway":  {nil, false, false},
		"the parent owns it":                          {object("a", "other", "parent"), true, true},
		"the parent owns one that was made meanwhile": {object("b", "parent"), false, true},
	} {
		after := map[model.ChildID]*unstructured.Unstructured{}
		if row.after != nil {
			after[id] = row.after
		}
		err := astray("parent", map[model.ChildID]types.UID{id: "a"}, after, map[model.ChildID]bool{id: row.stay})
		if (err != nil) != row.want {
			t.Errorf("%s: %v, want an error: %v", why, err, row.want)
		}
	}
}

func TestConditionOfAnObjectThatCouldNotBeRead(t *testing.T) {
	if got := conditionOf(nil, "Ready"); got != nil {
		t.Errorf("got %v, want none", got)
	}
}
