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

// act performs an action of a user or a stranger, with retries.
func (b *bed) act(ctx context.Context, a model.Action) error {
	switch a.Verb {
	case model.SetParent:
		return b.apply(ctx, resourceOf(a.ID.Kind), a.Parent.Manifest(a.ID))
	case model.DeleteParent:
		if a.ID.Kind == "Chain" || a.ID.Kind == "Wide" { // it is deleted with a delay
			return b.insist(ctx, "delete "+a.ID.String(), func() error { return gone(b.askToDelete(ctx, a)) })
		}
		return b.deleteParent(ctx, a)
	case model.OrphanParent:
		return b.orphanParent(ctx, a.ID)
	case model.SkipParent:
		return b.skipParent(ctx, a)
	case model.ReplaceParent:
		if err := b.deleteParent(ctx, a); err != nil {
			return err
		}
		return b.apply(ctx, resourceOf(a.ID.Kind), a.Parent.Manifest(a.ID))
	case model.SetController:
		return b.apply(ctx, controllers, a.Controller.Manifest(a.Shape))
	case model.RemoveController:
		return b.removeController(ctx, a.Shape)
	case model.ReplaceController:
		if err := b.removeController(ctx, a.Shape); err != nil {
			return err
		}
		return b.apply(ctx, controllers, a.Controller.Manifest(a.Shape))
	case model.WipeController:
		return b.wipeController(ctx, a.Shape)
	case model.UnserveKind:
		return b.unserve(ctx, a)
	case model.ReplaceKind:
		if err := b.remove(ctx, b.client.Resource(definitions), model.Plural(a.ID.Kind)+"."+model.Group, metav1.DeletePropagationBackground); err != nil {
			return err
		}
		return b.define(ctx, a.ID.Kind)
	case model.MoveEngines:
		return b.moveEngines(ctx, a.Parents)
	case model.SetSource:
		return b.apply(ctx, childResource("configmaps"), a.Source.Manifest(a.Child))
	case model.DeleteSource:
		return b.remove(ctx, b.children(a.Child), a.Child.Name, metav1.DeletePropagationBackground)
	case model.SetPod:
		return b.setPod(ctx, a)
	case model.DeletePod:
		return b.deletePod(ctx, a.Child)
	case model.RemoveParts:
		return b.remove(ctx, b.client.Resource(definitions), model.Plural(model.PartKind)+"."+model.Group, metav1.DeletePropagationBackground)
	case model.DefineParts:
		return b.define(ctx, model.PartKind)
	case model.OpenNamespace, model.CloseNamespace:
		return b.setNamespace(ctx, a.Namespace, a.Verb == model.OpenNamespace)
	case model.PutForeign:
		return b.putForeign(ctx, a)
	case model.RemoveForeign:
		return b.removeForeign(ctx, a.Child)
	case model.SpoilStatus, model.StripStatus, model.NoteStatus:
		return b.writeStatus(ctx, a)
	default:
		return b.disturb(ctx, a)
	}
}

// moveEngines applies many parents, several at a time.
func (b *bed) moveEngines(ctx context.Context, parents map[model.ParentID]model.Parent) error {
	var some errgroup.Group
	some.SetLimit(8)
	for id, parent := range parents {
		some.Go(func() error { return b.apply(ctx, resourceOf(id.Kind), parent.Manifest(id)) })
	}
	return some.Wait()
}

// deleteParent deletes a parent, in the foreground if Hard is set. Then its children are deleted first, and the parent
// remains for a while.
func (b *bed) deleteParent(ctx context.Context, a model.Action) error {
	return b.remove(ctx, b.client.Resource(resourceOf(a.ID.Kind)).Namespace(a.ID.Namespace), a.ID.Name, propagation(a))
}

// askToDelete deletes a parent without waiting until it is gone.
func (b *bed) askToDelete(ctx context.Context, a model.Action) error {
	how := propagation(a)
	return b.client.Resource(resourceOf(a.ID.Kind)).Namespace(a.ID.Namespace).Delete(ctx, a.ID.Name, metav1.DeleteOptions{PropagationPolicy: &how})
}

func propagation(a model.Action) metav1.DeletionPropagation {
	if a.Hard {
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// removeController deletes a TemplateController. If its children are to be deleted with it, it waits until the operator
// has observed that.
func (b *bed) removeController(ctx context.Context, name string) error {
	in := b.client.Resource(controllers)
	err := b.insist(ctx, "await the finalizer of "+name, func() error {
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
	return b.remove(ctx, in, name, metav1.DeletePropagationBackground)
}

var errUnseen = errors.New("not observed yet")

// remove deletes an object and returns once it is gone.
func (b *bed) remove(ctx context.Context, in dynamic.ResourceInterface, name string, propagation metav1.DeletionPropagation) error {
	asked := false
	return b.insistFor(ctx, b.patience()+settleLimit, "delete "+name, func() error { // the garbage collector may have to act first

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
		return fmt.Errorf("not right after %s: %w", limit, err)
	}
	return err
}
