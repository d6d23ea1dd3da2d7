package main

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// define creates the CRD of a kind and waits until it is served.
func (h *harness) define(ctx context.Context, kind string) error {
	if err := h.apply(ctx, definitions, model.Definition(kind)); err != nil {
		return err
	}
	name := model.Plural(kind) + "." + model.Group
	stuck, err := h.stuck(ctx, name)
	if err != nil {
		return err
	}
	if stuck {
		if err := h.remove(ctx, h.client.Resource(definitions), name, metav1.DeletePropagationBackground); err != nil {
			return err
		}
		return h.define(ctx, kind)
	}
	return h.served(ctx, resourceOf(kind))
}

// unserve makes the API server not serve a kind for a while, like an aggregated API that is temporarily unavailable.
// Its objects are kept.
func (h *harness) unserve(ctx context.Context, a model.Action) error {
	definition := model.Definition(a.ID.Kind)
	versions, _, _ := unstructured.NestedSlice(definition, "spec", "versions")
	versions[0].(map[string]any)["served"] = false
	if err := unstructured.SetNestedSlice(definition, versions, "spec", "versions"); err != nil {
		return err
	}
	if err := h.apply(ctx, definitions, definition); err != nil {
		return err
	}
	if err := pause(ctx, a.For/2); err != nil {
		return err
	}
	if a.Hard {
		if err := errors.Join(h.operators.end(0, syscall.SIGKILL), h.operators.start()); err != nil {
			return err
		}
	}
	return errors.Join(pause(ctx, a.For/2), h.define(ctx, a.ID.Kind))
}

// stuck reports whether a CRD will never be served: kube-apiserver forgets it if it is killed after accepting the
// names.
func (h *harness) stuck(ctx context.Context, name string) (stuck bool, err error) {
	const enough = 10 * time.Second // of an available API server, which usually takes less than a second
	var since time.Time
	err = h.insist(ctx, "establish "+name, func() error {
		definition, err := h.client.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			since = time.Time{}
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		stuck = !established(definition)
		if stuck && time.Since(since) < enough {
			return errUnseen
		}
		return nil
	})
	return stuck, err
}

func established(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(item any) bool {
		condition, _ := item.(map[string]any)
		return condition["type"] == "Established" && condition["status"] == "True"
	})
}

func (h *harness) served(ctx context.Context, resource schema.GroupVersionResource) error {
	return h.insist(ctx, "list "+resource.Resource, func() error {
		_, err := h.client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
}
