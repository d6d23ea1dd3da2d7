package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// orphanParent deletes a parent without its children, as kubectl delete --cascade=orphan does, and then the children, which nobody else does.
func (b *bed) orphanParent(ctx context.Context, id model.ParentID) error {
	in := b.client.Resource(resourceOf(id.Kind)).Namespace(id.Namespace)
	var uid types.UID
	err := b.insist(ctx, "find "+id.String(), func() error {
		parent, err := in.Get(ctx, id.Name, metav1.GetOptions{})
		if err == nil {
			uid = parent.GetUID()
		}
		return gone(err)
	})
	if err != nil || uid == "" {
		return err
	}
	if err := b.remove(ctx, in, id.Name, metav1.DeletePropagationOrphan); err != nil {
		return err
	}
	return b.deleteAllLeft(ctx, id, uid)
}

// deleteAllLeft deletes what that parent has left, which nobody else does.
func (b *bed) deleteAllLeft(ctx context.Context, id model.ParentID, uid types.UID) error {
	return b.insist(ctx, "delete what "+id.String()+" has left", func() error {
		var errs []error
		for _, namespace := range append(slices.Clone(model.Namespaces), model.Far) {
			errs = append(errs, b.deleteLeft(ctx, namespace, id, uid))
		}
		return errors.Join(errs...)
	})
}

// orphanEdited deletes several parents without their children, and edits them at the same moment.
func (b *bed) orphanEdited(ctx context.Context, a model.Action) error {
	var all errgroup.Group
	for id, edited := range a.Parents {
		s := &scene{bed: b, shape: a.Shape, id: id}
		all.Go(func() error { return s.orphanEdited(ctx, a, edited) })
	}
	return all.Wait()
}

// orphanEdited does so with one, and returns an error where a child has gone with it, or names it as its owner. The parent is kept from
// being gone until the operator and the garbage collector are done: its annotation tells then whether the operator has learnt in time how it was
// deleted, which it may miss while something breaks. It then takes the deletion for an ordinary one, which somebody may have to end: see
// letParentsGo.
func (s *scene) orphanEdited(ctx context.Context, a model.Action, edited model.Parent) error {
	there, held, err := s.find(ctx)
	if err != nil || !there {
		return err
	}
	if !held {
		return s.orphanParent(ctx, s.id)
	}
	before, err := s.owned(ctx)
	if err != nil {
		return err
	}
	if err := s.editAndOrphan(ctx, edited, a.For); err != nil {
		return err
	}
	noted, err := s.awaitOrphans(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(s.release(ctx, s.parents(), s.id.Name, s.uid, keptFinalizer), s.goes(ctx), pause(ctx, calm)); err != nil {
		return err
	}
	after, err := s.all(ctx)
	if err == nil && (noted || s.calm()) {
		err = astray(s.uid, before, after, a.Stay)
	}
	if err != nil {
		return fmt.Errorf("%s was deleted without its children, annotated: %v: %w", s.id, noted, err)
	}
	return s.deleteAllLeft(ctx, s.id, s.uid)
}

// find looks for the parent, and has it kept from being gone if the operator holds it, too, as it does unless the parent has just come, or does
// not match. It is not there where it is being deleted.
func (s *scene) find(ctx context.Context) (there, held bool, err error) {
	err = s.insist(ctx, "keep "+s.id.String(), func() error {
		o, err := s.parents().Get(ctx, s.id.Name, metav1.GetOptions{})
		there = err == nil && o.GetDeletionTimestamp() == nil
		if !there {
			return gone(err)
		}
		s.uid = o.GetUID()
		if held = slices.Contains(o.GetFinalizers(), "finalize.templater.dev/"+s.shape); !held {
			return nil
		}
		return s.addFinalizer(ctx, s.parents(), o, keptFinalizer)
	})
	return there, held, err
}

// editAndOrphan edits the parent, and deletes it that long afterwards, whether or not the edit has arrived.
func (s *scene) editAndOrphan(ctx context.Context, edited model.Parent, after time.Duration) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": s.uid}, "spec": map[string]any{"text": edited.Text}})
	if err != nil {
		return err
	}
	var both errgroup.Group
	both.Go(func() error {
		return s.insist(ctx, "edit "+s.id.String(), func() error {
			_, err := s.parents().Patch(ctx, s.id.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "user"})
			return err
		})
	})
	both.Go(func() error { return errors.Join(pause(ctx, after), s.delete(ctx, metav1.DeletePropagationOrphan)) })
	return both.Wait()
}

// awaitOrphans waits until nobody but we keeps the parent, and reports whether the operator has noted on it that its children are to stay.
func (s *scene) awaitOrphans(ctx context.Context) (noted bool, err error) {
	err = s.insistFor(ctx, s.patience()+settleLimit, "have the children of "+s.id.String()+" left", func() error {
		o, err := s.parent(ctx)
		if err != nil {
			return err
		}
		noted = o.GetAnnotations()["finalize.templater.dev/"+s.shape] == "children-stay/"+string(s.uid)
		if finalizers := o.GetFinalizers(); !slices.Equal(finalizers, []string{keptFinalizer}) {
			return fmt.Errorf("%w, with finalizers %v and the condition %v", errLeaving, finalizers, conditionOf(o, model.ReadyCondition(s.shape)))
		}
		return nil
	})
	return noted, err
}

// owned returns the children of the parent that nobody deletes.
func (s *scene) owned(ctx context.Context) (map[model.ChildID]types.UID, error) {
	all, err := s.all(ctx)
	own := map[model.ChildID]types.UID{}
	for id, o := range all {
		if o.GetLabels()["templater.dev/parent-uid"] == string(s.uid) && o.GetDeletionTimestamp() == nil {
			own[id] = o.GetUID()
		}
	}
	return own, err
}

// all returns what there is where the children of the parent may be.
func (s *scene) all(ctx context.Context) (map[model.ChildID]*unstructured.Unstructured, error) {
	all := map[model.ChildID]*unstructured.Unstructured{}
	for _, namespace := range []string{s.id.Namespace, model.Far} {
		err := s.insist(ctx, "list what "+s.id.String()+" has", func() error {
			list, err := s.client.Resource(childResource("configmaps")).Namespace(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for i := range list.Items {
				all[model.ChildID{Resource: "configmaps", Namespace: namespace, Name: list.Items[i].GetName()}] = &list.Items[i]
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// astray returns an error that names the children that should have stayed and have not, and what still has the parent as its owner.
func astray(parent types.UID, before map[model.ChildID]types.UID, after map[model.ChildID]*unstructured.Unstructured, stay map[model.ChildID]bool) error {
	var errs []error
	for id, uid := range before {
		if o := after[id]; stay[id] && (o == nil || o.GetUID() != uid || o.GetDeletionTimestamp() != nil) {
			errs = append(errs, fmt.Errorf("%s should have stayed, with uid %s: %s", id, uid, show(o)))
		}
	}
	for id, o := range after {
		if slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == parent }) {
			errs = append(errs, fmt.Errorf("%s still has its parent as an owner: %s", id, show(o)))
		}
	}
	return errors.Join(errs...)
}

// deleteLeft deletes the children of that parent in a namespace, whatever strangers have done to their labels, and returns an error
// until none is left.
func (b *bed) deleteLeft(ctx context.Context, namespace string, parent model.ParentID, uid types.UID) error {
	in := b.client.Resource(childResource("configmaps")).Namespace(namespace)
	list, err := in.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		o := &list.Items[i]
		named := namespace == parent.Namespace && strings.HasPrefix(o.GetName(), strings.ToLower(parent.Kind)+"-"+parent.Name)
		if !named && o.GetLabels()["templater.dev/parent-uid"] != string(uid) {
			continue
		}
		uid := o.GetUID()
		errs = append(errs, fmt.Errorf("%s: %w", o.GetName(), errLeaving))
		if o.GetDeletionTimestamp() == nil {
			errs = append(errs, gone(in.Delete(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})))
		}
	}
	return errors.Join(errs...)
}
