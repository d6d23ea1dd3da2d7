package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// controller checks the statuses of a TemplateController and its parents.
func (c *checker) controller(shape string) {
	o, want := c.controllers[shape], c.world.Controllers[shape]
	switch {
	case shape == c.beside:
		return
	case want.Absent && o != nil:
		c.fault("TemplateController %s exists, want it deleted", shape)
		return
	case want.Absent:
		return
	case o == nil:
		c.fault("TemplateController %s does not exist", shape)
		return
	}
	if c.rested {
		c.noCondition(o, "EventsWritable")
		c.noCondition(o, "LogsReadable")
	}
	switch {
	case want.Broken:
		c.condition(o, "Accepted", "False", "")
		c.condition(o, "Ready", "False", "")
		return
	case want.Suspended:
		c.condition(o, "Ready", "False", "Suspended")
		return
	}
	c.condition(o, "Ready", "True", "")
	if c.rested {
		c.condition(o, "StatusWritable", "True", "")
	}
	var total, failed int64
	for _, id := range c.world.ParentIDs() {
		if !c.world.Matches(shape, id) || c.parents[id] == nil {
			continue
		}
		total++
		if c.fails(shape, id) {
			failed++
			c.failing[id] = true
		}
	}
	if !c.counts {
		return
	}
	c.count(o, "parents", "total", total)
	c.count(o, "parents", "failed", failed)
	if want.Strategy != "OnDelete" {
		c.count(o, "parents", "ready", total-failed)
	}
	if failed > 0 {
		return // objects of a kind are not observed until the TemplateController has created one
	}
	children := c.live(shape)
	c.count(o, "children", "total", children)
	c.count(o, "children", "ready", children)
}

// live counts the children of the TemplateController's parents by their labels.
func (c *checker) live(shape string) int64 {
	uids := map[string]bool{}
	for id, parent := range c.parents {
		uids[string(parent.GetUID())] = c.world.Matches(shape, id)
	}
	var live int64
	for id, o := range c.children {
		labels := o.GetLabels()
		if _, foreign := c.foreign[id]; !foreign && labels["templater.dev/controller"] == shape && uids[labels["templater.dev/parent-uid"]] {
			live++
		}
	}
	return live
}

// fails checks the ready condition and the status of a parent, and reports whether it should fail.
func (c *checker) fails(shape string, id model.ParentID) bool {
	parent, controller := c.parents[id], c.world.Controllers[shape]
	switch {
	case controller.Extra == model.Double && c.world.Doubled(shape, id):
		reason := "InvalidChild"
		if controller.Swapped && shape == model.Whole && c.world.NoParts { // the first child template's error is reported
			reason = "ChildKindNotFound"
		}
		c.condition(parent, model.ReadyCondition(shape), "False", reason)
		return true
	case c.bad(id):
		c.condition(parent, model.ReadyCondition(shape), "False", "")
		return true
	case shape == model.Whole && c.world.NoParts:
		c.condition(parent, model.ReadyCondition(shape), "False", "ChildKindNotFound")
		return true
	case c.blocked(shape, id):
		c.condition(parent, model.ReadyCondition(shape), "False", "ChildConflict")
		return true
	}
	if controller.Strategy != "OnDelete" {
		c.condition(parent, model.ReadyCondition(shape), "True", "Ready")
	}
	switch shape {
	case model.Report:
		names := []any{model.Report + "-" + id.Name}
		if controller.Extra == model.SameSide || controller.Unpruned && c.shows(id, controller.Entry) {
			names = append(names, model.Report+"-"+id.Name+"-extra")
		}
		c.status(id, map[string]any{"text": c.world.Parents[id].Text, "total": int64(len(names)), "names": names})
	case model.Reader:
		c.status(id, map[string]any{"text": c.world.Told(id)})
	case model.Engine:
		c.status(id, map[string]any{"phase": model.End, "round": int64(c.world.Parents[id].Count)})
	default:
	}
	return false
}

// shows reports whether an extra ConfigMap exists that was created from the child template: templates that read the
// child template's objects also get kept objects that are no longer desired.
func (c *checker) shows(id model.ParentID, entry string) bool {
	extra := model.ChildID{Resource: "configmaps", Namespace: id.Namespace, Name: model.Report + "-" + id.Name + "-extra"}
	o := c.children[extra]
	if _, foreign := c.foreign[extra]; foreign || o == nil {
		return false
	}
	labels := o.GetLabels()
	return labels["templater.dev/controller"] == model.Report && labels["templater.dev/child"] == entry && labels["templater.dev/parent-uid"] == string(c.parents[id].GetUID())
}

// count checks a count of parents or children.
func (c *checker) count(o *unstructured.Unstructured, of, field string, want int64) {
	if got, _, _ := unstructured.NestedInt64(o.Object, "status", of, field); got != want {
		c.miscounts++
		named, _, _ := unstructured.NestedSlice(o.Object, "status", "failing")
		c.fault("TemplateController %s counts %d %s %s, want %d; it names %v as failing", o.GetName(), got, of, field, want, named)
	}
}

// status checks the fields of the status template, and the additions of another client.
func (c *checker) status(id model.ParentID, want map[string]any) {
	got, _, _ := unstructured.NestedMap(c.parents[id].Object, "status")
	delete(got, "conditions")
	if note, ok := c.notes[id]; ok && note.uid == c.parents[id].GetUID() {
		want[model.NoteField] = note.text
		c.condition(c.parents[id], model.ForeignCondition, "True", "")
	}
	if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		c.fault("the status of %s is %v, want %v", id, got, want)
	}
}

// condition checks a condition, which must have observed the current generation.
func (c *checker) condition(o *unstructured.Unstructured, kind, status, reason string) {
	name := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
	got := conditionOf(o, kind)
	switch {
	case got == nil:
		c.fault("%s has no condition %s", name, kind)
	case got["status"] != status || reason != "" && got["reason"] != reason || kind != model.ForeignCondition && got["observedGeneration"] != o.GetGeneration():
		c.fault("condition %s of %s, generation %d, is %v; want %s %s", kind, name, o.GetGeneration(), got, status, reason)
	}
}

// noCondition checks that the condition does not exist.
func (c *checker) noCondition(o *unstructured.Unstructured, kind string) {
	if got := conditionOf(o, kind); got != nil {
		c.fault("condition %s of %s %s is %v; want none", kind, o.GetKind(), o.GetName(), got)
	}
}

// conditionOf returns the condition of that type, nil if it does not exist.
func conditionOf(o *unstructured.Unstructured, kind string) map[string]any {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		if got, _ := item.(map[string]any); got["type"] == kind {
			return got
		}
	}
	return nil
}

// checkNoSecrets searches conditions for the secret.
func (c *checker) checkNoSecrets() {
	look := func(o *unstructured.Unstructured) {
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, item := range list {
			if condition, _ := item.(map[string]any); holds(condition, c.world.Secret) {
				c.fault("the condition %v of a %s contains data of parents or children", condition["type"], o.GetKind())
			}
		}
	}
	for _, o := range c.parents {
		look(o)
	}
	for _, o := range c.controllers {
		look(o)
	}
}
