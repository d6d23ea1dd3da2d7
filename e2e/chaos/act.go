package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
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

// act does what a user or a stranger does, and insists on it.
func (b *bed) act(ctx context.Context, a model.Action) error {
	switch a.Verb {
	case model.SetParent:
		return b.apply(ctx, resourceOf(a.ID.Kind), a.Parent.Manifest(a.ID))
	case model.DeleteParent:
		return b.deleteParent(ctx, a)
	case model.ReplaceParent:
		if err := b.deleteParent(ctx, a); err != nil {
			return err
		}
		return b.apply(ctx, resourceOf(a.ID.Kind), a.Parent.Manifest(a.ID))
	case model.SetController:
		return b.apply(ctx, controllers, a.Controller.Manifest(a.Shape))
	case model.ReplaceController:
		if err := b.remove(ctx, b.client.Resource(controllers), a.Shape, metav1.DeletePropagationBackground); err != nil {
			return err
		}
		return b.apply(ctx, controllers, a.Controller.Manifest(a.Shape))
	case model.ReplaceKind:
		if err := b.remove(ctx, b.client.Resource(definitions), model.Plural(a.ID.Kind)+"."+model.Group, metav1.DeletePropagationBackground); err != nil {
			return err
		}
		return b.define(ctx, a.ID.Kind)
	case model.OpenNamespace, model.CloseNamespace:
		return b.setNamespace(ctx, a.Namespace, a.Verb == model.OpenNamespace)
	case model.PutForeign:
		return b.putForeign(ctx, a)
	case model.RemoveForeign:
		return b.removeForeign(ctx, a.Child)
	default:
		return b.disturb(ctx, a)
	}
}

// deleteParent deletes a parent, in the foreground if it is hard. Then its children go first, and
// the parent stays for a while.
func (b *bed) deleteParent(ctx context.Context, a model.Action) error {
	propagation := metav1.DeletePropagationBackground
	if a.Hard {
		propagation = metav1.DeletePropagationForeground
	}
	return b.remove(ctx, b.client.Resource(resourceOf(a.ID.Kind)).Namespace(a.ID.Namespace), a.ID.Name, propagation)
}

// remove deletes an object and returns when it is gone.
func (b *bed) remove(ctx context.Context, in dynamic.ResourceInterface, name string, propagation metav1.DeletionPropagation) error {
	asked := false
	return b.insist(ctx, "delete "+name, func() error {
		if !asked {
			if err := in.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &propagation}); err != nil {
				return gone(err)
			}
			asked = true
		}
		_, err := in.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			err = errLeaving
		}
		return gone(err)
	})
}

// gone returns nil when the error says that there is nothing.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// The label that strangers put on their objects, and the key that they add to others'.
const (
	strangerLabel = "stranger"
	strangerKey   = "foreign"
)

func (b *bed) children(id model.ChildID) dynamic.ResourceInterface {
	return b.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: id.Resource}).Namespace(id.Namespace)
}

// putForeign creates an object where a child might be, unless there is one.
func (b *bed) putForeign(ctx context.Context, a model.Action) error {
	token := rand.Text()
	labels := map[string]any{strangerLabel: token}
	return b.insist(ctx, "put foreign "+a.Child.String(), func() error {
		if a.Hard {
			parent, err := b.client.Resource(resourceOf(a.ID.Kind)).Namespace(a.ID.Namespace).Get(ctx, a.ID.Name, metav1.GetOptions{})
			if err := gone(err); err != nil {
				return err
			}
			labels["templater.dev/controller"], labels["templater.dev/child"] = a.Shape, "config"
			labels["app.kubernetes.io/managed-by"] = "templater"
			if parent != nil {
				labels["templater.dev/parent-uid"] = string(parent.GetUID())
			}
		}
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": a.Child.Name, "namespace": a.Child.Namespace, "labels": labels},
			"data":     map[string]any{"owner": "a stranger"},
		}}
		in := b.children(a.Child)
		after, err := in.Create(ctx, o, metav1.CreateOptions{FieldManager: "stranger"})
		if apierrors.IsAlreadyExists(err) { // perhaps by an attempt that was not answered
			after, err = in.Get(ctx, a.Child.Name, metav1.GetOptions{})
		}
		if err != nil {
			return err
		}
		if after.GetLabels()[strangerLabel] == token {
			b.mu.Lock()
			b.foreign[a.Child] = mark{after.GetUID(), after.GetResourceVersion()}
			b.mu.Unlock()
		}
		return nil
	})
}

func (b *bed) removeForeign(ctx context.Context, id model.ChildID) error {
	b.mu.Lock()
	there, ok := b.foreign[id]
	b.mu.Unlock()
	if !ok {
		return nil
	}
	err := b.insist(ctx, "remove foreign "+id.String(), func() error {
		return gone(b.children(id).Delete(ctx, id.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &there.uid}}))
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.foreign, id)
	return err
}

// disturb changes or deletes a child behind the operator's back. What is not there, or a
// stranger's, is left alone.
func (b *bed) disturb(ctx context.Context, a model.Action) error {
	in := b.children(a.Child)
	return b.insist(ctx, "disturb "+a.Child.String(), func() error {
		child, err := in.Get(ctx, a.Child.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil || child.GetLabels()[strangerLabel] != "" {
			return err
		}
		if a.Verb == model.DeleteChild {
			uid := child.GetUID()
			err = in.Delete(ctx, a.Child.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		} else {
			err = patchChild(ctx, in, child, a)
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err // a conflict is tried again
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
		data("c3RyYW5nZXI=") // for a Secret, too
	case model.StripChild:
		data(nil)
	case model.AddToChild:
		patch["data"] = map[string]any{strangerKey: "YQ=="}
	case model.UnlabelChild:
		metadata["labels"] = map[string]any{"templater.dev/controller": nil}
	case model.RelabelChild:
		metadata["labels"] = map[string]any{"templater.dev/controller": model.Again, "templater.dev/parent-uid": "none"}
	default:
		return poll.Stop(fmt.Errorf("%s is nothing to do to a child", a.Verb))
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return poll.Stop(err)
	}
	_, err = in.Patch(ctx, child.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: "stranger"})
	return err
}

// await is poll.Until with a limit.
func await(ctx context.Context, limit time.Duration, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := poll.Until(ctx, 200*time.Millisecond, check)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("not right after %s: %w", limit, err)
	}
	return err
}
