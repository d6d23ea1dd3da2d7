package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// found is what a cluster holds at one moment.
type found struct {
	children    map[model.ChildID]*unstructured.Unstructured // everything where children may be
	parents     map[model.ParentID]*unstructured.Unstructured
	controllers map[string]*unstructured.Unstructured
}

// look reads everything from the API server.
func (b *bed) look(ctx context.Context) (*found, error) {
	f := &found{
		children:    map[model.ChildID]*unstructured.Unstructured{},
		parents:     map[model.ParentID]*unstructured.Unstructured{},
		controllers: map[string]*unstructured.Unstructured{},
	}
	list := func(r schema.GroupVersionResource, namespace string, file func(*unstructured.Unstructured)) error {
		all, err := b.client.Resource(r).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list %s: %w", r.Resource, err)
		}
		for i := range all.Items {
			file(&all.Items[i])
		}
		return nil
	}
	errs := []error{list(controllers, "", func(o *unstructured.Unstructured) { f.controllers[o.GetName()] = o })}
	for _, namespace := range model.Namespaces {
		for _, resource := range []string{"configmaps", "secrets"} {
			errs = append(errs, list(schema.GroupVersionResource{Version: "v1", Resource: resource}, namespace, func(o *unstructured.Unstructured) {
				if o.GetName() != "kube-root-ca.crt" {
					f.children[model.ChildID{Resource: resource, Namespace: namespace, Name: o.GetName()}] = o
				}
			}))
		}
		for _, kind := range model.Kinds {
			errs = append(errs, list(resourceOf(kind), namespace, func(o *unstructured.Unstructured) {
				f.parents[model.ParentID{Kind: kind, Namespace: namespace, Name: o.GetName()}] = o
			}))
		}
	}
	return f, errors.Join(errs...)
}

// checker collects the differences between a cluster and the model.
type checker struct {
	*found
	world   *model.World
	foreign map[model.ChildID]mark
	counts  bool // whether the counts of TemplateControllers are to be right, too
	faults  []string
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// compare returns all differences as one error, or nil.
func (c *checker) compare() error {
	desired := map[model.ChildID]model.Child{}
	for _, child := range c.world.Children() {
		desired[child.ID] = child
	}
	for _, id := range c.world.ParentIDs() {
		if c.parents[id] == nil {
			c.fault("%s is not there", id)
		}
	}
	for id, there := range c.foreign {
		o := c.children[id]
		if o == nil || (mark{o.GetUID(), o.GetResourceVersion()}) != there {
			c.fault("%s belongs to a stranger and was changed: %s", id, show(o))
		}
	}
	for id, child := range desired {
		c.child(child, c.children[id])
	}
	for id, o := range c.children {
		_, wanted := desired[id]
		if _, foreign := c.foreign[id]; !wanted && !foreign {
			c.extra(id, o)
		}
	}
	for _, shape := range model.Shapes {
		c.controller(shape)
	}
	if len(c.faults) == 0 {
		return nil
	}
	const most = 12
	if more := len(c.faults) - most; more > 0 {
		c.faults = append(c.faults[:most], fmt.Sprintf("and %d more", more))
	}
	return errors.New("the cluster differs from the model:\n  " + strings.Join(c.faults, "\n  "))
}

// frozen reports whether the TemplateController does nothing at the moment, so that nothing
// is known of its children.
func (c *checker) frozen(shape string) bool { return c.world.Controllers[shape].Suspended }

// blocked reports whether a stranger is in the way of a child of the parent.
func (c *checker) blocked(shape string, id model.ParentID) bool {
	for _, child := range c.world.Children() {
		if _, foreign := c.foreign[child.ID]; foreign && child.Shape == shape && child.Parent == id {
			return true
		}
	}
	return false
}

// child compares one child.
func (c *checker) child(want model.Child, o *unstructured.Unstructured) {
	parent := c.parents[want.Parent]
	if _, foreign := c.foreign[want.ID]; foreign || c.frozen(want.Shape) || parent == nil {
		return
	}
	if o == nil || o.GetDeletionTimestamp() != nil {
		c.fault("%s is missing: %s", want.ID, show(o))
		return
	}
	refs := o.GetOwnerReferences()
	if len(refs) != 1 || refs[0].UID != parent.GetUID() || refs[0].Controller == nil || !*refs[0].Controller || refs[0].Kind != want.Parent.Kind {
		c.fault("%s is not owned by %s %s: %s", want.ID, want.Parent, parent.GetUID(), show(o))
	}
	labels := map[string]string{
		"templater.dev/controller": want.Shape, "templater.dev/child": want.Entry,
		"templater.dev/parent-uid": string(parent.GetUID()), "app.kubernetes.io/managed-by": "templater",
	}
	if got := o.GetLabels(); !maps.Equal(got, labels) {
		c.fault("%s has the labels %v, want %v", want.ID, got, labels)
	}
	switch c.world.Controllers[want.Shape].Strategy {
	case "Apply", "Recreate":
		if got := data(o); !maps.Equal(got, want.Data) {
			c.fault("%s holds %q, want %q", want.ID, got, want.Data)
		}
	default: // it may be as it was once
	}
	if immutable, _, _ := unstructured.NestedBool(o.Object, "immutable"); immutable != want.Immutable {
		c.fault("%s: immutable is %v", want.ID, immutable)
	}
}

// data returns what the object holds, but for what strangers have added.
func data(o *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	held, _, _ := unstructured.NestedStringMap(o.Object, "data")
	for key, value := range held {
		if o.GetKind() == "Secret" {
			decoded, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				decoded = []byte("not base64: " + value)
			}
			value = string(decoded)
		}
		if key != strangerKey {
			out[key] = value
		}
	}
	return out
}

// extra judges an object that the model does not know. It is right where its TemplateController
// is suspended, where pruning is off or waits for a stranger to go, and where its label was stolen before
// its time was over, so that the operator has lost sight of it; but only as long as its parent is there.
func (c *checker) extra(id model.ChildID, o *unstructured.Unstructured) {
	shape, _, _ := strings.Cut(id.Name, "-")
	refs := o.GetOwnerReferences()
	if c.frozen(shape) && len(refs) == 1 {
		return
	}
	for parent, p := range c.parents {
		if len(refs) != 1 || refs[0].UID != p.GetUID() {
			continue
		}
		retained := c.world.Controllers[shape].Retain && id.Resource == "configmaps"
		stolen := o.GetLabels()["templater.dev/controller"] != shape
		if retained || stolen || c.world.Matches(shape, parent) && c.blocked(shape, parent) {
			return
		}
	}
	c.fault("%s should not be there: %s", id, show(o))
}

// controller compares the statuses of a TemplateController and its parents.
func (c *checker) controller(shape string) {
	o := c.controllers[shape]
	if o == nil {
		c.fault("TemplateController %s is not there", shape)
		return
	}
	if c.frozen(shape) {
		c.condition(o, "Ready", "False", "Suspended")
		return
	}
	c.condition(o, "Ready", "True", "")
	var total, failed int64
	for _, id := range c.world.ParentIDs() {
		if !c.world.Matches(shape, id) || c.parents[id] == nil {
			continue
		}
		total++
		if c.blocked(shape, id) {
			failed++
			c.condition(c.parents[id], model.ReadyCondition(shape), "False", "ChildConflict")
			continue
		}
		if c.world.Controllers[shape].Strategy != "OnDelete" {
			c.condition(c.parents[id], model.ReadyCondition(shape), "True", "Ready")
		}
		if shape == model.Report {
			c.status(id)
		}
	}
	if c.counts {
		c.count(o, "total", total)
		c.count(o, "failed", failed)
	}
}

func (c *checker) count(o *unstructured.Unstructured, field string, want int64) {
	if got, _, _ := unstructured.NestedInt64(o.Object, "status", "parents", field); got != want {
		c.fault("TemplateController %s counts %d parents %s, want %d", o.GetName(), got, field, want)
	}
}

// status compares what the status template yields.
func (c *checker) status(id model.ParentID) {
	got, _, _ := unstructured.NestedMap(c.parents[id].Object, "status")
	delete(got, "conditions")
	want := map[string]any{"text": c.world.Parents[id].Text, "total": int64(1), "names": []any{model.Report + "-" + id.Name}}
	if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		c.fault("the status of %s is %v, want %v", id, got, want)
	}
}

// condition compares a condition, which is to be of the present generation.
func (c *checker) condition(o *unstructured.Unstructured, kind, status, reason string) {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	name := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
	for _, item := range list {
		got, _ := item.(map[string]any)
		if got["type"] != kind {
			continue
		}
		if got["status"] != status || reason != "" && got["reason"] != reason || got["observedGeneration"] != o.GetGeneration() {
			c.fault("condition %s of %s, generation %d, is %v; want %s %s", kind, name, o.GetGeneration(), got, status, reason)
		}
		return
	}
	c.fault("%s has no condition %s", name, kind)
}

// show tells what matters of an object that is not right.
func show(o *unstructured.Unstructured) string {
	if o == nil {
		return "there is nothing"
	}
	return fmt.Sprintf("uid %s, version %s, deleted %v, labels %v, annotations %v, owners %v, data %q",
		o.GetUID(), o.GetResourceVersion(), o.GetDeletionTimestamp(), o.GetLabels(), o.GetAnnotations(), o.GetOwnerReferences(), data(o))
}
