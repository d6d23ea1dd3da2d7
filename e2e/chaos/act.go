package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// act performs an action of a user or another client, with retries.
func (h *harness) act(ctx context.Context, a model.Action) error {
	switch a.Verb {
	case model.SetParent:
		return h.apply(ctx, resourceOf(a.ID.Kind), a.Parent.Manifest(a.ID))
	case model.DeleteParent:
		if a.ID.Kind == "Chain" || a.ID.Kind == "Wide" { // it is deleted with a delay
			return h.insist(ctx, "delete "+a.ID.String(), func() error { return gone(h.askToDelete(ctx, a)) })
		}
		return h.deleteParent(ctx, a)
	case model.OrphanParent:
		return h.orphanParent(ctx, a.ID)
	case model.SkipParent:
		return h.skipParent(ctx, a)
	case model.ReplaceParent:
		if err := h.deleteParent(ctx, a); err != nil {
			return err
		}
		return h.apply(ctx, resourceOf(a.ID.Kind), a.Parent.Manifest(a.ID))
	case model.SetController:
		return h.apply(ctx, controllers, a.Controller.Manifest(a.Shape))
	case model.RemoveController:
		return h.removeController(ctx, a.Shape)
	case model.ReplaceController:
		if err := h.removeController(ctx, a.Shape); err != nil {
			return err
		}
		return h.apply(ctx, controllers, a.Controller.Manifest(a.Shape))
	case model.WipeController:
		return h.wipeController(ctx, a.Shape)
	case model.UnserveKind:
		return h.unserve(ctx, a)
	case model.ReplaceKind:
		if err := h.remove(ctx, h.client.Resource(definitions), model.Plural(a.ID.Kind)+"."+model.Group, metav1.DeletePropagationBackground); err != nil {
			return err
		}
		return h.define(ctx, a.ID.Kind)
	case model.MoveEngines:
		return h.moveEngines(ctx, a.Parents)
	case model.SetSource:
		return h.apply(ctx, childResource("configmaps"), a.Source.Manifest(a.Child))
	case model.DeleteSource:
		return h.remove(ctx, h.children(a.Child), a.Child.Name, metav1.DeletePropagationBackground)
	case model.SetPod:
		return h.setPod(ctx, a)
	case model.DeletePod:
		return h.deletePod(ctx, a.Child)
	case model.RemoveParts:
		return h.remove(ctx, h.client.Resource(definitions), model.Plural(model.PartKind)+"."+model.Group, metav1.DeletePropagationBackground)
	case model.DefineParts:
		return h.define(ctx, model.PartKind)
	case model.OpenNamespace, model.CloseNamespace:
		return h.setNamespace(ctx, a.Namespace, a.Verb == model.OpenNamespace)
	case model.PutForeign:
		return h.putForeign(ctx, a)
	case model.RemoveForeign:
		return h.removeForeign(ctx, a.Child)
	case model.SpoilStatus, model.StripStatus, model.NoteStatus:
		return h.writeStatus(ctx, a)
	default:
		return h.disturb(ctx, a)
	}
}

// moveEngines applies many parents, several at a time.
func (h *harness) moveEngines(ctx context.Context, parents map[model.ParentID]model.Parent) error {
	var some errgroup.Group
	some.SetLimit(8)
	for id, parent := range parents {
		some.Go(func() error { return h.apply(ctx, resourceOf(id.Kind), parent.Manifest(id)) })
	}
	return some.Wait()
}

// deleteParent deletes a parent, in the foreground if Hard is set. Then its children are deleted first, and the parent
// remains for a while.
func (h *harness) deleteParent(ctx context.Context, a model.Action) error {
	return h.remove(ctx, h.client.Resource(resourceOf(a.ID.Kind)).Namespace(a.ID.Namespace), a.ID.Name, propagation(a))
}

// askToDelete deletes a parent without waiting until it is gone.
func (h *harness) askToDelete(ctx context.Context, a model.Action) error {
	how := propagation(a)
	return h.client.Resource(resourceOf(a.ID.Kind)).Namespace(a.ID.Namespace).Delete(ctx, a.ID.Name, metav1.DeleteOptions{PropagationPolicy: &how})
}

func propagation(a model.Action) metav1.DeletionPropagation {
	if a.Hard {
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// removeController deletes a TemplateController. If its children are to be deleted with it, it waits until the operator
// has observed that.
func (h *harness) removeController(ctx context.Context, name string) error {
	in := h.client.Resource(controllers)
	err := h.insist(ctx, "await the finalizer of "+name, func() error {
		o, err := in.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return gone(err)
		}
		policy, _, _ := unstructured.NestedString(o.Object, "spec", "whenDeleted")
		suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
		if policy == "DeleteChildren" && !suspended && len(o.GetFinalizers()) == 0 {
			return errUnseen
		}
		return nil
	})
	if err != nil {
		return err
	}
	return h.remove(ctx, in, name, metav1.DeletePropagationBackground)
}

var errUnseen = errors.New("not observed yet")

// remove deletes an object and returns once it is gone.
func (h *harness) remove(ctx context.Context, in dynamic.ResourceInterface, name string, propagation metav1.DeletionPropagation) error {
	asked := false
	return h.insistFor(ctx, h.patience()+settleLimit, "delete "+name, func() error { // the garbage collector may have to act first

		if !asked {
			if err := in.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &propagation}); err != nil {
				return gone(err)
			}
			asked = true
		}
		o, err := in.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			err = fmt.Errorf("%w, with finalizers %v and conditions %v", errLeaving, o.GetFinalizers(), conditions)
		}
		return gone(err)
	})
}

// gone ignores a not-found error.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// await is poll.Until with a timeout.
func await(ctx context.Context, limit time.Duration, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := poll.Until(ctx, 200*time.Millisecond, check)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("not converged after %s: %w", limit, err)
	}
	return err
}
