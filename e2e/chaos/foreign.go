package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// The label of foreign objects, and the key that other clients add to children.
const (
	foreignLabel = "other-client"
	foreignKey   = "foreign"
)

// childResource returns the resource of children with that name.
func childResource(name string) schema.GroupVersionResource {
	if name == model.Plural(model.PartKind) {
		return resourceOf(model.PartKind)
	}
	return schema.GroupVersionResource{Version: "v1", Resource: name}
}

func (h *harness) children(id model.ChildID) dynamic.ResourceInterface {
	return h.client.Resource(childResource(id.Resource)).Namespace(id.Namespace)
}

// putForeign creates an object with the name of a possible child, unless it exists.
func (h *harness) putForeign(ctx context.Context, a model.Action) error {
	token := rand.Text()
	return h.insist(ctx, "put foreign "+a.Child.String(), func() error {
		parent, err := h.client.Resource(resourceOf(a.ID.Kind)).Namespace(a.ID.Namespace).Get(ctx, a.ID.Name, metav1.GetOptions{})
		if err := gone(err); err != nil {
			return err
		}
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": a.Child.Name, "namespace": a.Child.Namespace},
			"data": map[string]any{foreignKey: h.secret},
		}}
		owner := disguise(o, a, parent)
		if owner != forged {
			labels := o.GetLabels()
			labels[foreignLabel] = token
			o.SetLabels(labels)
		}
		manager := "other-client"
		if a.Guise == model.Identical && parent != nil {
			manager = "templater/" + a.Shape
			if err := h.copyMarks(ctx, o, parent.GetUID()); err != nil {
				return err
			}
		}
		in := h.children(a.Child)
		after, err := in.Create(ctx, o, metav1.CreateOptions{FieldManager: manager})
		if apierrors.IsAlreadyExists(err) { // maybe created by an attempt without a response
			after, err = in.Get(ctx, a.Child.Name, metav1.GetOptions{})
		}
		if err != nil {
			return err
		}
		if after.GetLabels()[foreignLabel] == token {
			h.mu.Lock()
			h.foreign[a.Child] = mark{after.GetUID(), after.GetResourceVersion(), owner}
			h.mu.Unlock()
		}
		return nil
	})
}

// forged replaces the owner of an object that the garbage collector deletes.
const forged = "forged"

// disguise makes the object resemble a child. It returns the owner with which it is deleted, or "" for none.
func disguise(o *unstructured.Unstructured, a model.Action, parent *unstructured.Unstructured) types.UID {
	labels := map[string]string{}
	defer func() { o.SetLabels(labels) }()
	if a.Guise == model.Plain {
		return ""
	}
	labels["templater.dev/controller"], labels["templater.dev/child"] = a.Shape, "config"
	labels["app.kubernetes.io/managed-by"] = "templater"
	if parent == nil {
		return ""
	}
	labels["templater.dev/parent-uid"] = string(parent.GetUID())
	controls := a.Guise != model.CoOwned
	ref := metav1.OwnerReference{APIVersion: parent.GetAPIVersion(), Kind: parent.GetKind(), Name: parent.GetName(), UID: parent.GetUID(), Controller: &controls}
	switch a.Guise {
	case model.CoOwned:
		o.SetOwnerReferences([]metav1.OwnerReference{ref})
		return parent.GetUID()
	case model.Bereft:
		ref.UID = types.UID(rand.Text())
		labels["templater.dev/parent-uid"] = string(ref.UID)
	case model.Identical:
		o.SetOwnerReferences([]metav1.OwnerReference{ref})
		return parent.GetUID()
	default:
		return ""
	}
	o.SetOwnerReferences([]metav1.OwnerReference{ref})
	return forged
}

// copyMarks copies to an object all readable annotations of a child of the parent, if there is one.
func (h *harness) copyMarks(ctx context.Context, o *unstructured.Unstructured, parent types.UID) error {
	siblings, err := h.client.Resource(childResource("configmaps")).List(ctx, metav1.ListOptions{LabelSelector: "templater.dev/parent-uid=" + string(parent) + ",!" + foreignLabel, Limit: 1})
	if err != nil {
		return err
	}
	for _, sibling := range siblings.Items {
		o.SetAnnotations(sibling.GetAnnotations())
	}
	return nil
}

func (h *harness) removeForeign(ctx context.Context, id model.ChildID) error {
	h.mu.Lock()
	there, ok := h.foreign[id]
	h.mu.Unlock()
	if !ok {
		return nil
	}
	err := h.insist(ctx, "remove foreign "+id.String(), func() error {
		return gone(h.children(id).Delete(ctx, id.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &there.uid}}))
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.foreign, id)
	return err
}

// disturb changes or deletes a child behind the operator's back. It ignores missing children and foreign objects.
func (h *harness) disturb(ctx context.Context, a model.Action) error {
	in := h.children(a.Child)
	return h.insist(ctx, "disturb "+a.Child.String(), func() error {
		child, err := in.Get(ctx, a.Child.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil || child.GetLabels()[foreignLabel] != "" {
			return err
		}
		switch a.Verb {
		case model.DeleteChild:
			uid := child.GetUID()
			err = in.Delete(ctx, a.Child.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		case model.UnsealChild:
			err = h.unseal(ctx, in, child, a.For)
		case model.HoldChild:
			err = h.hold(ctx, in, child, a.For)
		default:
			err = patchChild(ctx, in, child, a)
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err // a conflict is retried
	})
}

func patchChild(ctx context.Context, in dynamic.ResourceInterface, child *unstructured.Unstructured, a model.Action) error {
	metadata := map[string]any{"uid": child.GetUID(), "resourceVersion": child.GetResourceVersion()}
	patch := map[string]any{"metadata": metadata}
	data := func(value any) {
		key := "text"
		if a.Child.Resource == "secrets" {
			key = "token"
		}
		patch["data"] = map[string]any{key: value}
	}
	switch a.Verb {
	case model.EditChild:
		data("c3RyYW5nZXI=") // valid for a Secret, too
	case model.StripChild:
		data(nil)
	case model.AddToChild:
		patch["data"] = map[string]any{foreignKey: "YQ=="}
	case model.StripMarks:
		metadata["annotations"] = marks(nil)
	case model.ForgeMarks:
		metadata["annotations"] = marks(map[string]any{"applied-hash": "forged", "prune": "Orphan", "deletion": "Orphan", "order": "9", "parent": forgedParent, "depth": "1"})
	case model.UnsealChild:
		metadata["annotations"] = map[string]any{seal: nil}
	case model.UnlabelChild:
		metadata["labels"] = map[string]any{"templater.dev/controller": nil}
	case model.RelabelChild:
		metadata["labels"] = map[string]any{"templater.dev/controller": model.Again, "templater.dev/parent-uid": "none"}
	default:
		return poll.Stop(fmt.Errorf("unknown action on a child: %s", a.Verb))
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return poll.Stop(err)
	}
	_, err = in.Patch(ctx, child.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: "other-client"})
	return err
}

// forgedParent is the parent in forged annotations.
const forgedParent = "nobody"

// seal is the annotation that proves which parent a child belongs to.
const seal = "templater.dev/seal"

// marks are the other annotations that templater sets, with these values; those without a value are removed.
func marks(values map[string]any) map[string]any {
	out := map[string]any{}
	for _, name := range []string{"applied-hash", "prune", "deletion", "order", "parent", "depth"} {
		out["templater.dev/"+name] = values[name]
	}
	return out
}

// unseal removes the seal of a child, which then no longer counts as one, and deletes it after a while.
func (h *harness) unseal(ctx context.Context, in dynamic.ResourceInterface, child *unstructured.Unstructured, long time.Duration) error {
	if err := patchChild(ctx, in, child, model.Action{Verb: model.UnsealChild}); err != nil {
		return err
	}
	uid, name := child.GetUID(), child.GetName()
	h.later(ctx, long, func() error {
		return h.insist(ctx, "delete "+name, func() error {
			err := in.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
			if apierrors.IsConflict(err) { // it has been replaced in the meantime
				return nil
			}
			return gone(err)
		})
	})
	return nil
}

// later does something after a delay, in the background.
func (h *harness) later(ctx context.Context, long time.Duration, do func() error) {
	h.held.Go(func() {
		err := pause(ctx, long)
		if err == nil {
			err = do()
		}
		if err != nil {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.failed = append(h.failed, err)
		}
	})
}

// foreignFinalizer keeps a child for a while.
const foreignFinalizer = "chaos.example.org/held"

// hold adds a finalizer to a child, and removes it after a delay, in the background. An object that is being deleted
// accepts no new finalizers.
func (h *harness) hold(ctx context.Context, in dynamic.ResourceInterface, child *unstructured.Unstructured, long time.Duration) error {
	if child.GetDeletionTimestamp() != nil {
		return nil
	}
	if err := h.addFinalizer(ctx, in, child, foreignFinalizer); err != nil {
		return err
	}
	uid, name := child.GetUID(), child.GetName()
	h.later(ctx, long, func() error { return h.release(ctx, in, name, uid, foreignFinalizer) })
	return nil
}

// addFinalizer adds a finalizer to an object, unless it has it.
func (h *harness) addFinalizer(ctx context.Context, in dynamic.ResourceInterface, o *unstructured.Unstructured, finalizer string) error {
	if slices.Contains(o.GetFinalizers(), finalizer) {
		return nil
	}
	return h.setFinalizers(ctx, in, o, append(o.GetFinalizers(), finalizer))
}

// release removes the finalizer from the object with that UID.
func (h *harness) release(ctx context.Context, in dynamic.ResourceInterface, name string, uid types.UID, finalizer string) error {
	return h.insist(ctx, "release "+name, func() error {
		child, err := in.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return gone(err)
		}
		if child.GetUID() != uid {
			return nil
		}
		rest := slices.DeleteFunc(child.GetFinalizers(), func(f string) bool { return f == finalizer })
		return gone(h.setFinalizers(ctx, in, child, rest))
	})
}

func (h *harness) setFinalizers(ctx context.Context, in dynamic.ResourceInterface, child *unstructured.Unstructured, finalizers []string) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": child.GetUID(), "resourceVersion": child.GetResourceVersion(), "finalizers": finalizers,
	}})
	if err != nil {
		return poll.Stop(err)
	}
	_, err = in.Patch(ctx, child.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: "other-client"})
	return err
}

// wipeController removes the status of a TemplateController, if that exists.
func (h *harness) wipeController(ctx context.Context, name string) error {
	return h.insist(ctx, "wipe the status of TemplateController "+name, func() error {
		_, err := h.client.Resource(controllers).Patch(ctx, name, types.MergePatchType, []byte(`{"status": null}`), metav1.PatchOptions{FieldManager: "other-client"}, "status")
		return gone(err)
	})
}

// note is what another client has written to the status of a parent.
type note struct {
	uid  types.UID
	text string
}

// writeStatus makes another client write to the status of a parent, if that exists.
func (h *harness) writeStatus(ctx context.Context, a model.Action) error {
	in := h.client.Resource(resourceOf(a.ID.Kind)).Namespace(a.ID.Namespace)
	return h.insist(ctx, "write the status of "+a.ID.String(), func() error {
		parent, err := in.Get(ctx, a.ID.Name, metav1.GetOptions{})
		if err != nil {
			return gone(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		switch a.Verb {
		case model.SpoilStatus:
			err = h.patchStatus(ctx, in, parent, map[string]any{map[string]string{"Report": "text", "Engine": "phase"}[a.ID.Kind]: h.secret})
		case model.StripStatus:
			delete(h.notes, a.ID)
			err = h.patchStatus(ctx, in, parent, nil)
		default:
			h.notes[a.ID] = note{parent.GetUID(), h.secret + rand.Text()}
			err = h.noteStatus(ctx, in, parent, h.notes[a.ID].text)
		}
		return gone(err)
	})
}

// patchStatus sets these fields of the status; nil removes the whole status.
func (h *harness) patchStatus(ctx context.Context, in dynamic.ResourceInterface, parent *unstructured.Unstructured, fields map[string]any) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": parent.GetResourceVersion()}, "status": fields})
	if err != nil {
		return poll.Stop(err)
	}
	_, err = in.Patch(ctx, parent.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: "other-client"}, "status")
	return err
}

// noteStatus applies a field and a condition that no template sets.
func (h *harness) noteStatus(ctx context.Context, in dynamic.ResourceInterface, parent *unstructured.Unstructured, text string) error {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": parent.GetAPIVersion(), "kind": parent.GetKind(),
		"metadata": map[string]any{"name": parent.GetName(), "namespace": parent.GetNamespace(), "resourceVersion": parent.GetResourceVersion()},
		"status": map[string]any{
			model.NoteField: text, "conditions": []any{map[string]any{"type": model.ForeignCondition, "status": "True"}},
		},
	}}
	_, err := in.ApplyStatus(ctx, parent.GetName(), o, metav1.ApplyOptions{FieldManager: "other-client", Force: true})
	return err
}
