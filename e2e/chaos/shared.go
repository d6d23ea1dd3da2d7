package main

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// owns reports whether the object with the child's name belongs to its parent. If two parents render the same object,
// it belongs to the first.
func (c *checker) owns(child model.Child) bool {
	o, parent := c.children[child.ID], c.parents[child.Parent]
	return o != nil && parent != nil && o.GetLabels()["templater.dev/parent-uid"] == string(parent.GetUID())
}

// owned reports whether any of the parents that render the object owns it.
func (c *checker) owned(id model.ChildID) bool {
	return slices.ContainsFunc(c.world.Children(), func(child model.Child) bool { return child.ID == id && c.owns(child) })
}

// parent checks whether a parent exists as desired, and whether it waits for finalization.
func (c *checker) parent(id model.ParentID, o *unstructured.Unstructured) {
	if _, wanted := c.world.Parents[id]; !wanted || o.GetDeletionTimestamp() != nil {
		c.fault("%s was not deleted: since %v it has the finalizers %v and the conditions %v", id, o.GetDeletionTimestamp(), o.GetFinalizers(), conditionOf(o, "Ready"))
		return
	}
	for _, shape := range model.Shapes {
		controller := c.world.Controllers[shape]
		if model.KindOf(shape) != id.Kind || controller.Frozen() && !controller.Absent {
			continue
		}
		want := controller.Finalizing(shape) && !controller.Absent && c.world.Matches(shape, id)
		if has := slices.Contains(o.GetFinalizers(), "finalize.templater.dev/"+shape); has != want {
			c.fault("%s has the finalizers %v; one of TemplateController %s: want %v", id, o.GetFinalizers(), shape, want)
		}
	}
}
