package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

const (
	// lostAfter is the maximum time the garbage collector may take for an object without dependents.
	lostAfter = time.Minute
	// tendEvery is the interval of checks for lost objects.
	tendEvery = 5 * time.Second
)

// tend releases lost objects until the context is done, like an administrator. The Kubernetes garbage collector loses
// an object that is deleted in the foreground if its watch breaks while an earlier object of that name is also being
// deleted in the foreground: after relisting, it takes the two for one whose deletion it has already seen. Only
// restarting it, or someone else, resolves that.
//
// It also loses objects whose owner was replaced by another one of the same name while the watch was broken: after
// relisting, it takes the two owners for one, too (github.com/kubernetes/kubernetes/pull/133565). If there is a
// TemplateController, templater deletes its own objects that the garbage collector leaves, and only these. For the same
// reason the garbage collector may never orphan the children of such an owner.
func (h *harness) tend(ctx context.Context) {
	bereaved := ownerless{}
	for pause(ctx, tendEvery) == nil {
		if f, err := h.look(ctx); err == nil { // otherwise the API server is down
			h.releaseLost(ctx, f, time.Now())
			h.orphanLost(ctx, f, time.Now())
			h.deleteOwnerless(ctx, bereaved.lost(f, time.Now()))
		}
	}
}

// ownerless records since when objects have had none of their owners and have not been managed by templater: foreign
// objects, and those without a TemplateController.
type ownerless map[types.UID]time.Time

// lost returns the objects for which that lasts longer than the garbage collector needs.
func (m ownerless) lost(f *found, now time.Time) map[model.ChildID]*unstructured.Unstructured {
	there := map[types.UID]bool{}
	for _, o := range f.children {
		there[o.GetUID()] = true
	}
	for _, o := range f.parents {
		there[o.GetUID()] = true
	}
	since, out := ownerless{}, map[model.ChildID]*unstructured.Unstructured{}
	for id, o := range f.children {
		owned := slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return there[r.UID] })
		labels := o.GetLabels()
		controller := labels["templater.dev/controller"] // which does nothing about objects that others have relabelled
		tended := labels[foreignLabel] == "" && f.controllers[controller] != nil && applied(o, controller)
		if len(o.GetOwnerReferences()) == 0 || owned || o.GetDeletionTimestamp() != nil || tended {
			continue
		}
		first, known := m[o.GetUID()]
		if !known {
			first = now
		}
		since[o.GetUID()] = first
		if now.Sub(first) > lostAfter {
			out[id] = o
		}
	}
	clear(m)
	maps.Copy(m, since)
	return out
}

// deleteOwnerless deletes lost objects, unless they have changed.
func (h *harness) deleteOwnerless(ctx context.Context, all map[model.ChildID]*unstructured.Unstructured) {
	for id, o := range all {
		uid, version := o.GetUID(), o.GetResourceVersion()
		err := h.children(id).Delete(ctx, id.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
		if err != nil {
			continue // retried next time
		}
		h.lost++
		fmt.Fprintf(h.out, "the garbage collector has lost %s: its owners were deleted more than %v ago, and no TemplateController manages it: deleting uid %s\n", id, lostAfter, uid)
	}
}

// releaseLost removes the finalizer of each lost object. One that has changed meanwhile is retried next time.
func (h *harness) releaseLost(ctx context.Context, f *found, now time.Time) {
	needed := f.owners()
	for id, o := range f.children {
		if lost(o, needed, now) {
			h.releaseOne(ctx, h.children(id), id, o)
		}
	}
	for id, o := range f.parents {
		if lost(o, needed, now) {
			h.releaseOne(ctx, h.client.Resource(resourceOf(id.Kind)).Namespace(id.Namespace), id, o)
		}
	}
}

// orphanLost does the garbage collector's work for lost parents that are deleted with propagationPolicy Orphan: it
// removes the owner references of their children, then the garbage collector's finalizer.
func (h *harness) orphanLost(ctx context.Context, f *found, now time.Time) {
	for id, o := range f.parents {
		if !neverOrphaned(o, now) {
			continue
		}
		if err := h.removeOwner(ctx, f, o.GetUID()); err != nil {
			continue // retried next time
		}
		rest := slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == metav1.FinalizerOrphanDependents })
		if h.setFinalizers(ctx, h.client.Resource(resourceOf(id.Kind)).Namespace(id.Namespace), o, rest) != nil {
			continue
		}
		h.lost++
		fmt.Fprintf(h.out, "the garbage collector has lost %s: it has not orphaned its children since %s: orphaning them, uid %s\n",
			id, o.GetDeletionTimestamp().UTC().Format(time.TimeOnly), o.GetUID())
	}
}

// neverOrphaned reports whether the garbage collector should have orphaned the children of an object long ago, and no
// other finalizer keeps the object.
func neverOrphaned(o *unstructured.Unstructured, now time.Time) bool {
	deleted, finalizers := o.GetDeletionTimestamp(), o.GetFinalizers()
	others := slices.ContainsFunc(finalizers, func(f string) bool { return f != metav1.FinalizerOrphanDependents })
	return deleted != nil && now.Sub(deleted.Time) > lostAfter && !others && slices.Contains(finalizers, metav1.FinalizerOrphanDependents)
}

// removeOwner removes all owner references to an object, unless they have changed.
func (h *harness) removeOwner(ctx context.Context, f *found, owner types.UID) error {
	for id, o := range f.children {
		kept := slices.DeleteFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner })
		if len(kept) == len(o.GetOwnerReferences()) {
			continue
		}
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion(), "ownerReferences": kept}})
		if err != nil {
			return err
		}
		if _, err := h.children(id).Patch(ctx, id.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "other-client"}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (h *harness) releaseOne(ctx context.Context, in dynamic.ResourceInterface, id fmt.Stringer, o *unstructured.Unstructured) {
	err := h.setFinalizers(ctx, in, o, nil)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || ctx.Err() != nil {
		return
	}
	if err != nil {
		fmt.Fprintf(h.out, "cannot remove the finalizer of %s, which the garbage collector lost: %v\n", id, err)
		return
	}
	h.lost++
	fmt.Fprintf(h.out, "the garbage collector has lost %s: since %s, only its finalizer %s blocks the deletion: removing it, uid %s\n",
		id, o.GetDeletionTimestamp().UTC().Format(time.TimeOnly), metav1.FinalizerDeleteDependents, o.GetUID())
}

// lost reports whether the garbage collector's finalizer alone has kept an object for longer than it needs.
func lost(o *unstructured.Unstructured, needed map[types.UID]bool, now time.Time) bool {
	deleted := o.GetDeletionTimestamp()
	return deleted != nil && now.Sub(deleted.Time) > lostAfter && !needed[o.GetUID()] &&
		slices.Equal(o.GetFinalizers(), []string{metav1.FinalizerDeleteDependents})
}

// owners returns the UIDs of objects with dependents.
func (f *found) owners() map[types.UID]bool {
	out := map[types.UID]bool{}
	for _, o := range f.children {
		for _, ref := range o.GetOwnerReferences() {
			out[ref.UID] = true
		}
	}
	return out
}
