package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

// SetFinalizers replaces the finalizers of an object, provided that it still has that resource version. Where it is being
// deleted and none is left, it is gone then.
func (c *Client) SetFinalizers(ctx context.Context, at request.Location, version string, finalizers []string) (*object.Object, error) {
	list := make([]any, len(finalizers))
	for i, f := range finalizers {
		list[i] = f
	}
	return c.merge(ctx, at, map[string]any{"resourceVersion": version, "finalizers": list}, "templater")
}

// holdersPage is how many objects Holders reads at a time.
const holdersPage = 500

// Holders returns the objects of a resource that have the finalizer, in a namespace, or, where it is empty, in all of them.
func (c *Client) Holders(ctx context.Context, resource schema.GroupVersionResource, namespace, finalizer string) ([]request.Holder, error) {
	var out []request.Holder
	o := metav1.ListOptions{Limit: holdersPage}
	for {
		answer, err := c.List(ctx, resource, namespace, o)
		if err != nil {
			return nil, err
		}
		list := answer.(*object.List) //nolint:forcetypeassert // List has looked
		for _, item := range list.Items {
			if h, holds := request.HolderOf(item.(*object.Object), finalizer); holds { //nolint:forcetypeassert // as List says
				out = append(out, h)
			}
		}
		if o.Continue = list.Continue; o.Continue == "" {
			return out, nil
		}
	}
}
