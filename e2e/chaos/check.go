package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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
		if r.Resource == "parts" && apierrors.IsNotFound(err) {
			return nil // the kind is not defined at the moment
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", r.Resource, err)
		}
		for i := range all.Items {
			file(&all.Items[i])
		}
		return nil
	}
	errs := []error{list(controllers, "", func(o *unstructured.Unstructured) { f.controllers[o.GetName()] = o })}
	for _, namespace := range append(slices.Clone(model.Namespaces), model.Far) {
		for _, resource := range []string{"configmaps", "secrets", "parts"} {
			errs = append(errs, list(childResource(resource), namespace, func(o *unstructured.Unstructured) {
				if o.GetName() != "kube-root-ca.crt" && o.GetLabels()[model.SourceLabel] == "" {
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

// hasParent reports whether there is a parent of that UID.
func (f *found) hasParent(uid types.UID) bool {
	for _, parent := range f.parents {
		if parent.GetUID() == uid {
			return true
		}
	}
	return false
}

// checker collects the differences between a cluster and the model.
type checker struct {
	*found
	world   *model.World
	round   *model.Round // that was played since before; nil = none
	beside  string       // the TemplateController that does not count; "" = all do
	before  memories
	foreign map[model.ChildID]mark
	notes   map[model.ParentID]note
	counts  bool                    // whether the counts of TemplateControllers are to be right, too
	rested  bool                    // whether they are to say nothing any more of what only faults had them say
	failing map[model.ParentID]bool // those whose ready condition is to say that something is wrong
	faults  []string

	miscounts int // of the faults
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// errMiscounts says that all is as the model says but for what TemplateControllers count.
var errMiscounts = errors.New("counts alone are wrong")

// compare returns all differences as one error, or nil; it is errMiscounts where nothing else differs.
func (c *checker) compare() error {
	desired := c.desired()
	for _, id := range c.world.ParentIDs() {
		if c.parents[id] == nil {
			c.fault("%s is not there", id)
		}
	}
	for id, parent := range c.parents {
		c.parent(id, parent)
	}
	for id, there := range c.foreign {
		o := c.children[id]
		if o == nil || o.GetUID() != there.uid || o.GetResourceVersion() != there.version {
			c.fault("%s belongs to a stranger and was changed: %s", id, show(o))
		}
	}
	for id, child := range desired {
		c.child(child, id, c.children[id])
	}
	c.remembered()
	c.discreet()
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
	if c.miscounts == len(c.faults) {
		return fmt.Errorf("%w: %s", errMiscounts, strings.Join(c.faults, "; "))
	}
	const most = 12
	if more := len(c.faults) - most; more > 0 {
		c.faults = append(c.faults[:most], fmt.Sprintf("and %d more", more))
	}
	return errors.New("the cluster differs from the model:\n  " + strings.Join(c.faults, "\n  "))
}

// desired returns the children by their full names.
func (c *checker) desired() map[model.ChildID]model.Child {
	out := map[model.ChildID]model.Child{}
	for _, child := range c.world.Children() {
		id := child.ID
		if parent := c.parents[child.Parent]; child.Unique && parent != nil {
			id.Name += string(parent.GetUID())[:model.UniqueLength]
		}
		if child.Shared && !c.owns(child) && c.owned(id) {
			continue // the other parent has it
		}
		out[id] = child
	}
	return out
}

// frozen reports whether the TemplateController does nothing at the moment, so that nothing
// is known of its children.
func (c *checker) frozen(shape string) bool { return c.world.Controllers[shape].Frozen() }

// bad reports whether the server does not take what is made for the parent, so that not all of it is known.
func (c *checker) bad(id model.ParentID) bool { return c.world.Parents[id].Bad != model.Good }

// blocked reports whether a stranger is in the way of a child of the parent.
func (c *checker) blocked(shape string, id model.ParentID) bool {
	for _, child := range c.world.Children() {
		if child.Shape != shape || child.Parent != id {
			continue
		}
		if _, foreign := c.foreign[child.ID]; foreign || child.Shared && !c.owns(child) && c.owned(child.ID) {
			return true
		}
	}
	return false
}

// child compares one child.
func (c *checker) child(want model.Child, id model.ChildID, o *unstructured.Unstructured) {
	parent := c.parents[want.Parent]
	if _, foreign := c.foreign[id]; foreign || want.Shape == c.beside || c.frozen(want.Shape) || c.bad(want.Parent) || parent == nil {
		return
	}
	if o == nil || o.GetDeletionTimestamp() != nil {
		c.fault("%s is missing: %s", id, show(o))
		return
	}
	if !bound(o, want, parent) {
		c.fault("%s is not owned by %s %s: %s", id, want.Parent, parent.GetUID(), show(o))
	}
	labels := map[string]string{
		"templater.dev/controller": want.Shape, "templater.dev/child": want.Entry,
		"templater.dev/parent-uid": string(parent.GetUID()), "app.kubernetes.io/managed-by": "templater",
	}
	if got := o.GetLabels(); !maps.Equal(got, labels) {
		c.fault("%s has the labels %v, want %v", id, got, labels)
	}
	controller := c.world.Controllers[want.Shape]
	switch halted := controller.Rolling(want.Shape) && c.blocked(want.Shape, want.Parent); controller.Strategy {
	case "Apply", "Recreate":
		if halted { // an object is missing, so that no other may be
			break
		}
		if got := data(o); !maps.Equal(got, want.Data) {
			c.fault("%s holds %q, want %q", id, got, want.Data)
		}
	default: // it may be as it was once
	}
	if immutable, _, _ := unstructured.NestedBool(o.Object, "immutable"); immutable != want.Immutable {
		c.fault("%s: immutable is %v", id, immutable)
	}
}

// bound reports whether the object has the owner that the child is to have.
func bound(o *unstructured.Unstructured, want model.Child, parent *unstructured.Unstructured) bool {
	refs := o.GetOwnerReferences()
	if want.Far && o.GetAnnotations()["templater.dev/parent"] != want.Parent.Namespace+"/"+want.Parent.Name {
		return false
	}
	if want.Orphan || want.Far {
		return len(refs) == 0
	}
	return len(refs) == 1 && refs[0].UID == parent.GetUID() && refs[0].Controller != nil && *refs[0].Controller && refs[0].Kind == want.Parent.Kind
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

// extra judges an object that the model does not know. It is right where its TemplateController does nothing,
// where pruning is off or waits for a stranger to go, where a predecessor made it of a kind that the TemplateController has not made anything of, and where its label was stolen before
// its time was over, so that the operator has lost sight of it; but only as long as its parent is there, unless
// it is one that outlives its parent.
func (c *checker) extra(id model.ChildID, o *unstructured.Unstructured) {
	shape, _, _ := strings.Cut(id.Name, "-")
	refs := o.GetOwnerReferences()
	if shape == c.beside || c.frozen(shape) && (len(refs) == 1 || id.Namespace == model.Far) || outlives(o) && c.parentOf(o) == nil {
		return
	}
	controller := c.world.Controllers[shape]
	if controller.Absent && !applied(o, shape) {
		return // forged, and not seen before
	}
	if id.Namespace == model.Far && !c.world.Knows(shape, id.Resource) {
		return
	}
	parent := c.parentOf(o)
	if parent != nil {
		unpruned := !c.world.Knows(shape, id.Resource) || controller.Protects(id) || controller.Torn || c.unprunedByItself(shape, o)
		stolen := o.GetLabels()["templater.dev/controller"] != shape
		if unpruned || stolen || outlives(o) && (c.frozen(shape) || controller.Absent) || c.world.Matches(shape, *parent) && (c.blocked(shape, *parent) || c.bad(*parent) || shape == model.Whole && c.world.NoParts) {
			return
		}
	}
	c.fault("%s should not be there: %s", id, show(o))
}

// applied reports whether the TemplateController has ever written the object.
func applied(o *unstructured.Unstructured, shape string) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool { return m.Manager == "templater/"+shape })
}

// parentOf returns the parent that there is of a child.
func (c *checker) parentOf(o *unstructured.Unstructured) *model.ParentID {
	refs := o.GetOwnerReferences()
	uid := types.UID(o.GetLabels()["templater.dev/parent-uid"])
	if len(refs) == 1 {
		uid = refs[0].UID
	}
	for parent, p := range c.parents {
		if p.GetUID() == uid {
			return &parent
		}
	}
	return nil
}

// unprunedByItself reports whether the entry that the object was made from is gone, so that what the object says counts.
func (c *checker) unprunedByItself(shape string, o *unstructured.Unstructured) bool {
	entries := c.world.Controllers[shape].Entries(shape)
	return !slices.Contains(entries, o.GetLabels()["templater.dev/child"]) && o.GetAnnotations()["templater.dev/prune"] != ""
}

// outlives reports whether the object is one that outlives its parent.
func outlives(o *unstructured.Unstructured) bool {
	return len(o.GetOwnerReferences()) == 0 && strings.Contains(o.GetName(), model.KeptMark)
}

// show tells what matters of an object that is not right.
func show(o *unstructured.Unstructured) string {
	if o == nil {
		return "there is nothing"
	}
	return fmt.Sprintf("uid %s, version %s, deleted %v, labels %v, annotations %v, owners %v, data %q",
		o.GetUID(), o.GetResourceVersion(), o.GetDeletionTimestamp(), o.GetLabels(), o.GetAnnotations(), o.GetOwnerReferences(), data(o))
}
