package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// skip is a patch that skips finalization of a parent.
const skip = `{"metadata":{"annotations":{"templater.dev/skip-finalize":"true"}}}`

// skipParent deletes a parent and skips its finalization.
func (h *harness) skipParent(ctx context.Context, a model.Action) error {
	in := h.client.Resource(resourceOf(a.ID.Kind)).Namespace(a.ID.Namespace)
	err := h.insist(ctx, "annotate "+a.ID.String(), func() error {
		_, err := in.Patch(ctx, a.ID.Name, types.MergePatchType, []byte(skip), metav1.PatchOptions{FieldManager: "user"})
		return gone(err)
	})
	if err != nil {
		return err
	}
	return h.deleteParent(ctx, a)
}

// letGoEvery is the interval at which an administrator checks for parents that are blocked.
const letGoEvery = time.Second

// letParentsGo releases parents of Chain that have been waiting for long, until the context is done.
func (h *harness) letParentsGo(ctx context.Context) {
	for pause(ctx, letGoEvery) == nil {
		for _, namespace := range model.Namespaces {
			in := h.client.Resource(resourceOf("Chain")).Namespace(namespace)
			list, err := in.List(ctx, metav1.ListOptions{})
			if err != nil {
				break // the API server is down, or the kind is not served
			}
			for i := range list.Items {
				o := &list.Items[i]
				if !waitsForSomebody(o, time.Now(), h.longest) {
					continue
				}
				if _, err := in.Patch(ctx, o.GetName(), types.MergePatchType, []byte(skip), metav1.PatchOptions{FieldManager: "administrator"}); err == nil {
					h.noteWaited(o)
				}
			}
		}
	}
}

// waitsForSomebody reports whether a parent has been finalizing for more than a minute plus the longest fault, and no one has skipped that.
// Its timeout is shorter, but starts again after a fault.
func waitsForSomebody(o *unstructured.Unstructured, now time.Time, longestFault time.Duration) bool {
	condition, deleted := conditionOf(o, "Ready"), o.GetDeletionTimestamp()
	return deleted != nil && now.Sub(deleted.Time) > time.Minute+longestFault && condition["reason"] == "Finalizing" && o.GetAnnotations()["templater.dev/skip-finalize"] == ""
}

func (h *harness) noteWaited(o *unstructured.Unstructured) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waited == nil {
		h.waited = map[types.UID]string{}
	}
	h.waited[o.GetUID()] = o.GetNamespace() + "/" + o.GetName()
	h.freed++
}

// waitedRightly returns an error if parents had to be released in a round in which finalization has a timeout.
func (h *harness) waitedRightly(round *model.Round) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	waited := slices.Sorted(maps.Values(h.waited))
	h.waited = nil
	if len(waited) == 0 || round.Blocks {
		return nil
	}
	return fmt.Errorf("parents of Chain were released manually although they have a timeout: %s", strings.Join(waited, ", "))
}
