package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// orphanParent deletes a parent without its children, like kubectl delete --cascade=orphan, and then the children,
// which no one else deletes.
func (h *harness) orphanParent(ctx context.Context, id model.ParentID) error {
	in := h.client.Resource(resourceOf(id.Kind)).Namespace(id.Namespace)
	var uid types.UID
	err := h.insist(ctx, "find "+id.String(), func() error {
		parent, err := in.Get(ctx, id.Name, metav1.GetOptions{})
		if err == nil {
			uid = parent.GetUID()
		}
		return gone(err)
	})
	if err != nil || uid == "" {
		return err
	}
	if err := h.remove(ctx, in, id.Name, metav1.DeletePropagationOrphan); err != nil {
		return err
	}
	return h.deleteAllLeft(ctx, id, uid)
}

// deleteAllLeft deletes the remaining children of that parent, which no one else deletes.
func (h *harness) deleteAllLeft(ctx context.Context, id model.ParentID, uid types.UID) error {
	return h.insist(ctx, "delete what "+id.String()+" has left", func() error {
		var errs []error
		for _, namespace := range append(slices.Clone(model.Namespaces), model.Far) {
			errs = append(errs, h.deleteLeft(ctx, namespace, id, uid))
		}
		return errors.Join(errs...)
	})
}

// deleteLeft deletes the children of that parent in a namespace, even if other clients have changed their labels, and
// returns an error until none is left.
func (h *harness) deleteLeft(ctx context.Context, namespace string, parent model.ParentID, uid types.UID) error {
	in := h.client.Resource(childResource("configmaps")).Namespace(namespace)
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
