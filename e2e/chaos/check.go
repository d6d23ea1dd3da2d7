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

// found is the content of a cluster at one moment.
type found struct {
	children    map[model.ChildID]*unstructured.Unstructured // all objects in places where children may be
	parents     map[model.ParentID]*unstructured.Unstructured
	controllers map[string]*unstructured.Unstructured
}

// look reads everything from the API server.
func (h *harness) look(ctx context.Context) (*found, error) {
	f := &found{
		children:    map[model.ChildID]*unstructured.Unstructured{},
		parents:     map[model.ParentID]*unstructured.Unstructured{},
		controllers: map[string]*unstructured.Unstructured{},
	}
	list := func(r schema.GroupVersionResource, namespace string, file func(*unstructured.Unstructured)) error {
		all, err := h.client.Resource(r).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if r.Resource == "parts" && apierrors.IsNotFound(err) {
			return nil // the kind is not served at the moment
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

// hasParent reports whether a parent with that UID exists.
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
	round   *model.Round // the last round; nil = none
	beside  string       // the TemplateController to ignore; "" = none
	before  memories
	foreign map[model.ChildID]mark
	notes   map[model.ParentID]note
	counts  bool                    // whether to compare the counts of TemplateControllers
	rested  bool                    // whether conditions caused by faults only must have disappeared
	failing map[model.ParentID]bool // parents whose ready condition must report a failure
	faults  []string

	miscounts int // number of faults that are wrong counts
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// errMiscounts means that only the counts of TemplateControllers differ from the model.
var errMiscounts = errors.New("counts alone are wrong")

// compare returns all differences as one error, or nil; it is errMiscounts if only counts differ.
func (c *checker) compare() error {
	desired := c.desired()
	for _, id := range c.world.ParentIDs() {
		if c.parents[id] == nil {
			c.fault("%s does not exist", id)
		}
	}
	for id, parent := range c.parents {
		c.parent(id, parent)
	}
	for id, there := range c.foreign {
		o := c.children[id]
		if o == nil || o.GetUID() != there.uid || o.GetResourceVersion() != there.version {
			c.fault("foreign object %s was changed: %s", id, show(o))
		}
	}
	for id, child := range desired {
		c.child(child, id, c.children[id])
	}
	c.remembered()
	c.checkNoSecrets()
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

// desired returns the desired children by their complete names.
func (c *checker) desired() map[model.ChildID]model.Child {
	out := map[model.ChildID]model.Child{}
	for _, child := range c.world.Children() {
		id := child.ID
		if parent := c.parents[child.Parent]; child.Unique && parent != nil {
			id.Name += string(parent.GetUID())[:model.UniqueLength]
		}
		if child.Shared && !c.owns(child) && c.owned(id) {
			continue // it belongs to the other parent
		}
		out[id] = child
	}
	return out
}

// frozen reports whether the TemplateController is inactive, so that the state of its children is unknown.
func (c *checker) frozen(shape string) bool { return c.world.Controllers[shape].Frozen() }

// bad reports whether the API server rejects a child of the parent, so that its children are not fully known.
func (c *checker) bad(id model.ParentID) bool { return c.world.Parents[id].Bad != model.Good }

// blocked reports whether a child of the parent conflicts with an object of someone else.
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
		if halted { // an object is missing, so the rollout is blocked
			break
		}
		if got := data(o); !maps.Equal(got, want.Data) {
			c.fault("%s has the data %q, want %q", id, got, want.Data)
		}
	default: // it may be outdated
	}
	if immutable, _, _ := unstructured.NestedBool(o.Object, "immutable"); immutable != want.Immutable {
		c.fault("%s: immutable is %v", id, immutable)
	}
}

// bound reports whether the object has the owner that the child must have.
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

// data returns the object's data without additions by other clients.
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
		if key != foreignKey {
			out[key] = value
		}
	}
	return out
}

// extra checks an object that the model does not know. It is accepted if its TemplateController is inactive; if the
// TemplateController does not watch its kind and its parent is missing or in another namespace (only the garbage
// collector may delete it, which loses some); if pruning is off or blocked by a foreign object; if a predecessor
// created it and the TemplateController has created no object of its kind; and if its label was changed before it was
// pruned, so that the operator does not observe it. This holds only while its parent exists, unless the object outlives
// its parent. Without a parent, it is also accepted if the annotation with its parent was changed. It is not accepted as
// long as the operator is about to collect it.
func (c *checker) extra(id model.ChildID, o *unstructured.Unstructured) {
	shape, _, _ := strings.Cut(id.Name, "-")
	parent := c.parentOf(o)
	switch {
	case shape == c.beside, outlives(o) && parent == nil:
		return
	case c.world.Controllers[shape].Absent && !applied(o, shape), parent == nil && hidden(o):
		return // the operator never observed it, or cannot tell whose child it is
	case parent == nil && c.collects(shape, id.Resource):
	case c.frozen(shape) && (len(o.GetOwnerReferences()) == 1 || id.Namespace == model.Far):
		return
	case !c.world.Knows(shape, id.Resource) && (parent == nil || id.Namespace == model.Far):
		return
	case parent != nil && c.unpruned(id, o, shape, *parent):
		return
	}
	c.fault("unexpected %s: %s", id, show(o))
}

// collects reports whether the operator deletes objects of that resource whose parent is missing, a minute after it has
// noticed that. It does so even if the child templates fail. The status of the TemplateController has the kinds that the
// operator watches, which a parent that was deleted since may have added.
func (c *checker) collects(shape, resource string) bool {
	want, o := c.world.Controllers[shape], c.controllers[shape]
	if o == nil || want.Suspended || want.Broken {
		return false
	}
	kinds, _, _ := unstructured.NestedSlice(o.Object, "status", "childKinds")
	return slices.ContainsFunc(kinds, func(each any) bool {
		fields, _ := each.(map[string]any)
		kind, _ := fields["kind"].(string)
		return model.Plural(kind) == resource
	})
}

// unpruned reports whether an object may still be there although its parent exists and does not want it.
func (c *checker) unpruned(id model.ChildID, o *unstructured.Unstructured, shape string, parent model.ParentID) bool {
	controller := c.world.Controllers[shape]
	switch {
	case !c.world.Knows(shape, id.Resource), controller.Protects(id), controller.Torn, c.unprunedByItself(shape, o):
		return true
	case o.GetLabels()["templater.dev/controller"] != shape: // stolen
		return true
	case outlives(o) && (c.frozen(shape) || controller.Absent):
		return true
	}
	return c.world.Matches(shape, parent) && (c.blocked(shape, parent) || c.bad(parent) || shape == model.Whole && c.world.NoParts)
}

// applied reports whether the TemplateController has ever applied the object.
func applied(o *unstructured.Unstructured, shape string) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool { return m.Manager == "templater/"+shape })
}

// hidden reports whether another client has changed the annotation that names the parent. While the parent exists, that is
// repaired.
func hidden(o *unstructured.Unstructured) bool {
	return o.GetAnnotations()["templater.dev/parent"] == forgedParent
}

// parentOf returns the existing parent of a child.
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

// unprunedByItself reports whether the child template of the object was removed, so that the object's own annotation
// applies.
func (c *checker) unprunedByItself(shape string, o *unstructured.Unstructured) bool {
	entries := c.world.Controllers[shape].Entries(shape)
	return !slices.Contains(entries, o.GetLabels()["templater.dev/child"]) && o.GetAnnotations()["templater.dev/prune"] != ""
}

// outlives reports whether the object outlives its parent.
func outlives(o *unstructured.Unstructured) bool {
	return len(o.GetOwnerReferences()) == 0 && strings.Contains(o.GetName(), model.KeptMark)
}

// show describes an incorrect object.
func show(o *unstructured.Unstructured) string {
	if o == nil {
		return "there is nothing"
	}
	return fmt.Sprintf("uid %s, version %s, deleted %v, labels %v, annotations %v, owners %v, data %q",
		o.GetUID(), o.GetResourceVersion(), o.GetDeletionTimestamp(), o.GetLabels(), o.GetAnnotations(), o.GetOwnerReferences(), data(o))
}
