package main

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

var (
	wideA = model.ParentID{Kind: "Wide", Namespace: "chaos-a", Name: "p"}
	wideB = model.ParentID{Kind: "Wide", Namespace: "chaos-b", Name: "p"}
	share = model.ChildID{Resource: "configmaps", Namespace: model.Far, Name: "wide-shared-p"}
)

// wideChecker is a cluster in which two parents render the same object, which belongs to the first one.
func wideChecker() *checker {
	w := model.NewWorld("hush")
	f := &found{
		children: map[model.ChildID]*unstructured.Unstructured{}, parents: map[model.ParentID]*unstructured.Unstructured{},
		controllers: map[string]*unstructured.Unstructured{},
	}
	for _, id := range []model.ParentID{wideB, wideA} {
		w.Parents[id] = model.Parent{Text: id.Namespace}
		o := &unstructured.Unstructured{Object: w.Parents[id].Manifest(id)}
		o.SetUID(types.UID("uid-" + id.Namespace))
		o.SetGeneration(1)
		o.SetFinalizers([]string{"finalize.templater.dev/wide"})
		o.Object["status"] = map[string]any{"conditions": ready("Ready", "True", "Ready")}
		f.parents[id] = o
	}
	f.parents[wideB].Object["status"] = map[string]any{"conditions": ready("Ready", "False", "ChildConflict")}
	w.Learn()
	for _, child := range w.Children() {
		if child.Shared && child.Parent == wideB {
			continue
		}
		o := childObject(child, f.parents[child.Parent])
		if child.Far {
			o.SetOwnerReferences(nil)
			o.SetAnnotations(map[string]string{"templater.dev/parent": "chaos-a/p"})
		}
		f.children[child.ID] = o
	}
	for shape, c := range w.Controllers {
		o := &unstructured.Unstructured{Object: c.Manifest(shape)}
		o.SetGeneration(1)
		o.Object["status"] = map[string]any{"conditions": ready("Ready", "True", "Ready")}
		f.controllers[shape] = o
	}
	return &checker{found: f, world: w, foreign: map[model.ChildID]mark{}, failing: map[model.ParentID]bool{}}
}

func TestCompareCrossNamespaceChildren(t *testing.T) {
	for why, row := range map[string]struct {
		change func(*checker)
		want   string // part of the error; empty = none
	}{
		"one of two parents owns it":   {func(*checker) {}, ""},
		"no parent owns it":            {func(c *checker) { delete(c.children, share) }, "wide-shared-p is missing"},
		"a deleted parent owns it":     {func(c *checker) { c.parents[wideA].SetUID("newer") }, "wide-shared-p has the labels"},
		"owner reference":              {func(c *checker) { c.children[share].SetOwnerReferences([]metav1.OwnerReference{{}}) }, "wide-shared-p is not owned by"},
		"annotation of another parent": {func(c *checker) { c.children[share].SetAnnotations(nil) }, "wide-shared-p is not owned by"},
		"data of another parent":       {func(c *checker) { _ = unstructured.SetNestedField(c.children[share].Object, "chaos-b", "data", "text") }, "wide-shared-p has the data"},
		"the other parent does not report the conflict": {func(c *checker) {
			c.parents[wideB].Object["status"] = map[string]any{"conditions": ready("Ready", "True", "Ready")}
		}, "want False ChildConflict"},
		"its parent was deleted":  {func(c *checker) { delete(c.world.Parents, wideA); delete(c.parents, wideA) }, "wide-shared-p"},
		"missing finalizer":       {func(c *checker) { c.parents[wideA].SetFinalizers(nil) }, "want true"},
		"unneeded finalizer":      {func(c *checker) { c.change(model.Wide, func(m *model.Controller) { m.Selective = true }) }, "want false"},
		"parent was not deleted":  {func(c *checker) { delete(c.world.Parents, wideA) }, "Wide chaos-a/p was not deleted"},
		"parent is being deleted": {func(c *checker) { now := metav1.Now(); c.parents[wideA].SetDeletionTimestamp(&now) }, "Wide chaos-a/p was not deleted"},
	} {
		t.Run(why, func(t *testing.T) {
			c := wideChecker()
			row.change(c)
			err := c.compare()
			if (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q in it", err, row.want)
			}
		})
	}
}
