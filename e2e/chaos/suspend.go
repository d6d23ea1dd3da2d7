package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// suspended is for how long a TemplateController is suspended whose parent is deleted meanwhile, and hurry spec.finalize.timeout then.
const (
	suspended = 4 * time.Second
	hurry     = "1s"
)

// suspendParent deletes a parent of Chain while its TemplateController is suspended, for longer than the timeout of what is to happen before
// it goes. The parent has to stay, and its backup to be made all the same. A finalizer of the test keeps both, to see that.
func (b *bed) suspendParent(ctx context.Context, a model.Action) error {
	s, err := b.stage(ctx, model.Chain, a.ID, a.Parent)
	if err != nil {
		return err
	}
	b.spare(s.uid)
	err = s.insist(ctx, "hold "+s.id.String(), func() error {
		o, err := s.parent(ctx)
		if err != nil {
			return err
		}
		return s.addFinalizer(ctx, s.parents(), o, keptFinalizer)
	})
	if err == nil {
		err = s.deleteSuspended(ctx, a.Controller)
	}
	if err == nil {
		err = s.madeBackup(ctx)
	}
	err = errors.Join(err, s.release(ctx, s.parents(), s.id.Name, s.uid, keptFinalizer))
	if err == nil {
		err = s.goes(ctx)
	}
	return errors.Join(err, b.apply(ctx, controllers, a.Controller.Manifest(model.Chain)))
}

// deleteSuspended deletes the parent while its TemplateController is suspended, and goes on with it after a while.
func (s *scene) deleteSuspended(ctx context.Context, c model.Controller) error {
	for _, suspend := range []bool{true, false} {
		content := c.Manifest(model.Chain)
		err := errors.Join(unstructured.SetNestedField(content, suspend, "spec", "suspend"), unstructured.SetNestedField(content, hurry, "spec", "finalize", "timeout"))
		if err == nil {
			err = s.apply(ctx, controllers, content)
		}
		if err == nil && suspend {
			err = s.deleteUnseen(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteUnseen deletes the parent once its TemplateController is known to be suspended. It has to stay as it is.
func (s *scene) deleteUnseen(ctx context.Context) error {
	err := s.insistFor(ctx, s.patience()+settleLimit, "have "+s.shape+" suspended", func() error {
		o, err := s.client.Resource(controllers).Get(ctx, s.shape, metav1.GetOptions{})
		if ready := conditionOf(o, "Ready"); err == nil && (ready["reason"] != "Suspended" || ready["observedGeneration"] != o.GetGeneration()) {
			err = fmt.Errorf("%w: generation %d, condition %v", errUnseen, o.GetGeneration(), ready)
		}
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(s.delete(ctx, metav1.DeletePropagationBackground), pause(ctx, suspended), s.insist(ctx, "see whether "+s.id.String()+" stays", func() error {
		o, err := s.parent(ctx)
		if err == nil && !slices.Contains(o.GetFinalizers(), finalizerOf(s.shape)) {
			err = errLetGo
		}
		return err
	}))
}

var errLetGo = errors.New("templater has let it go although its TemplateController is suspended")

func finalizerOf(shape string) string { return "finalize.templater.dev/" + shape }

// madeBackup waits until templater lets the parent go, and returns an error unless its backup is there.
func (s *scene) madeBackup(ctx context.Context) error {
	err := s.insistFor(ctx, s.patience()+settleLimit, "have "+s.id.String()+" let go", func() error {
		o, err := s.parent(ctx)
		if err == nil && slices.Contains(o.GetFinalizers(), finalizerOf(s.shape)) {
			err = fmt.Errorf("%w: %v", errLeaving, conditionOf(o, model.ReadyCondition(s.shape)))
		}
		return err
	})
	if err != nil {
		return err
	}
	o, err := s.child(ctx, chainChild(s.id, model.BackupMark))
	if err == nil && (o == nil || o.GetLabels()["templater.dev/parent-uid"] != string(s.uid)) {
		err = fmt.Errorf("%s was let go without a backup: %s", s.id, show(o))
	}
	return err
}
