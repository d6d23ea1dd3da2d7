package main

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// scene is one parent of which is told while it lasts whether all is right. The lane of its kind does nothing else meanwhile.
type scene struct {
	*bed
	shape string
	id    model.ParentID
	uid   types.UID
}

func (s *scene) parents() dynamic.ResourceInterface {
	return s.client.Resource(resourceOf(s.id.Kind)).Namespace(s.id.Namespace)
}

// stage has a parent as it is to be, with all its children, known to an operator that knows the present TemplateController.
func (b *bed) stage(ctx context.Context, shape string, id model.ParentID, parent model.Parent) (*scene, error) {
	s := &scene{bed: b, shape: shape, id: id}
	if err := b.apply(ctx, resourceOf(id.Kind), parent.Manifest(id)); err != nil {
		return nil, err
	}
	return s, b.insistFor(ctx, b.patience()+settleLimit, "have "+id.String()+" served", func() error {
		controller, err := b.client.Resource(controllers).Get(ctx, shape, metav1.GetOptions{})
		if err != nil {
			return err
		}
		seen, _, _ := unstructured.NestedInt64(controller.Object, "status", "observedGeneration")
		o, err := s.parents().Get(ctx, id.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		s.uid = o.GetUID()
		ready := conditionOf(o, model.ReadyCondition(shape))
		held := slices.Contains(o.GetFinalizers(), "finalize.templater.dev/"+shape)
		finalizing := shape == model.Chain || shape == model.Wide
		if seen != controller.GetGeneration() || ready["status"] != "True" || ready["observedGeneration"] != o.GetGeneration() || held != finalizing {
			return fmt.Errorf("%w: its generation is %d, its finalizers are %v, its condition is %v", errUnseen, o.GetGeneration(), o.GetFinalizers(), ready)
		}
		return nil
	})
}

// says waits until the parent says for that reason something that holds all of these texts.
func (s *scene) says(ctx context.Context, reason string, texts ...string) error {
	return s.insistFor(ctx, s.patience()+settleLimit, "hear "+reason+" of "+s.id.String(), func() error {
		o, err := s.parent(ctx)
		if err != nil {
			return err
		}
		if got := conditionOf(o, model.ReadyCondition(s.shape)); got["reason"] != reason || !holdsAll(got["message"], texts) {
			return fmt.Errorf("want %q in it, the condition is %v", texts, got)
		}
		return nil
	})
}

// parent returns the parent, and an error that ends all waiting where it has gone.
func (s *scene) parent(ctx context.Context) (*unstructured.Unstructured, error) {
	o, err := s.parents().Get(ctx, s.id.Name, metav1.GetOptions{})
	if gone(err) == nil && (o == nil || err != nil || o.GetUID() != s.uid) {
		return nil, poll.Stop(fmt.Errorf("%s, with uid %s, has gone though something keeps it", s.id, s.uid))
	}
	return o, err
}

// child returns a child, nil where there is none.
func (s *scene) child(ctx context.Context, id model.ChildID) (child *unstructured.Unstructured, err error) {
	err = s.insist(ctx, "read "+id.String(), func() error {
		child, err = s.children(id).Get(ctx, id.Name, metav1.GetOptions{})
		if gone(err) == nil && err != nil {
			child = nil
		}
		return gone(err)
	})
	return child, err
}

// stays returns an error unless the child is the one that it was, and nobody deletes it.
func (s *scene) stays(ctx context.Context, id model.ChildID, uid types.UID) error {
	o, err := s.child(ctx, id)
	if err == nil && (o == nil || o.GetUID() != uid || o.GetDeletionTimestamp() != nil) {
		err = fmt.Errorf("%s should have stayed what it was, with uid %s, while %s waits: %s", id, uid, s.id, show(o))
	}
	return err
}

// delete deletes the parent, and does not wait until it is gone.
func (s *scene) delete(ctx context.Context, how metav1.DeletionPropagation) error {
	return s.insist(ctx, "delete "+s.id.String(), func() error {
		return gone(s.parents().Delete(ctx, s.id.Name, metav1.DeleteOptions{PropagationPolicy: &how, Preconditions: &metav1.Preconditions{UID: &s.uid}}))
	})
}

// goes waits until the parent has gone.
func (s *scene) goes(ctx context.Context) error {
	return s.insistFor(ctx, s.patience()+settleLimit, "have "+s.id.String()+" go", func() error {
		o, err := s.parents().Get(ctx, s.id.Name, metav1.GetOptions{})
		if err == nil {
			err = fmt.Errorf("%w, with finalizers %v and the condition %v", errLeaving, o.GetFinalizers(), conditionOf(o, model.ReadyCondition(s.shape)))
		}
		return gone(err)
	})
}
