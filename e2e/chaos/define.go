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
func (b *bed) define(ctx context.Context, kind string) error {
	if err := b.apply(ctx, definitions, model.Definition(kind)); err != nil {
		return err
	}
	name := model.Plural(kind) + "." + model.Group
	stuck, err := b.stuck(ctx, name)
	if err != nil {
		return err
	}
	if stuck {
		if err := b.remove(ctx, b.client.Resource(definitions), name, metav1.DeletePropagationBackground); err != nil {
			return err
		}
		return b.define(ctx, kind)
	}
	return b.served(ctx, resourceOf(kind))
}

// unserve makes the API server not serve a kind for a while, like an aggregated API that is temporarily unavailable.
// Its objects are kept.
func (b *bed) unserve(ctx context.Context, a model.Action) error {
	definition := model.Definition(a.ID.Kind)
	versions, _, _ := unstructured.NestedSlice(definition, "spec", "versions")
	versions[0].(map[string]any)["served"] = false
	if err := unstructured.SetNestedSlice(definition, versions, "spec", "versions"); err != nil {
		return err
	}
	if err := b.apply(ctx, definitions, definition); err != nil {
		return err
	}
	if err := pause(ctx, a.For/2); err != nil {
		return err
	}
	if a.Hard {
		if err := errors.Join(b.operators.end(0, syscall.SIGKILL), b.operators.start()); err != nil {
			return err
		}
	}
	return errors.Join(pause(ctx, a.For/2), b.define(ctx, a.ID.Kind))
}

// stuck reports whether a CRD will never be served: kube-apiserver forgets it if it is killed after accepting the
// names.
func (b *bed) stuck(ctx context.Context, name string) (stuck bool, err error) {
	const enough = 10 * time.Second // of an available API server, which usually takes less than a second
	var since time.Time
	err = b.insist(ctx, "establish "+name, func() error {
		definition, err := b.client.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
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

func (b *bed) served(ctx context.Context, resource schema.GroupVersionResource) error {
	return b.insist(ctx, "list "+resource.Resource, func() error {
		_, err := b.client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
}
