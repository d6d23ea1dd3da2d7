package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// readyEvery is the interval of checks for children that must become ready.
const readyEvery = 300 * time.Millisecond

// makeReady makes the children of Chain ready, shortly after their creation, until the context is done.
func (h *harness) makeReady(ctx context.Context) {
	for pause(ctx, readyEvery) == nil {
		for _, namespace := range model.Namespaces {
			list, err := h.client.Resource(childResource("configmaps")).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: "templater.dev/controller=" + model.Chain})
			if err != nil {
				break // the API server is down
			}
			for i := range list.Items {
				h.makeOneReady(ctx, &list.Items[i])
			}
		}
	}
}

// makeOneReady makes a child ready if it should be.
func (h *harness) makeOneReady(ctx context.Context, o *unstructured.Unstructured) {
	name := o.GetName()
	if fails, _, _ := unstructured.NestedString(o.Object, "data", model.FailsKey); fails == "true" {
		return
	}
	waits := strings.HasSuffix(name, model.WebMark) || strings.HasSuffix(name, model.LastMark)
	if state, _, _ := unstructured.NestedString(o.Object, "data", model.ReadyKey); waits || state == model.ReadyText || o.GetDeletionTimestamp() != nil {
		return
	}
	_ = h.setReady(ctx, o) // retried on failure
}

// setReady sets the field that readyWhen requires. No one can have observed it before the recorded time.
func (h *harness) setReady(ctx context.Context, o *unstructured.Unstructured) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion()},
		"data":     map[string]any{model.ReadyKey: model.ReadyText},
	})
	if err != nil {
		return poll.Stop(err)
	}
	at := time.Now()
	_, err = h.client.Resource(childResource("configmaps")).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: "other-client"})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readied = append(h.readied, readied{o.GetNamespace() + "/" + o.GetName(), at})
	return err
}
