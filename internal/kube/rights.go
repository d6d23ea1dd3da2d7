package kube

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

// reviews is where the server answers which rights a user has.
var reviews = authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews")

// Allowed asks the server whether the client's user has a right. A Forbidden says
// that the client may not even ask as that user.
func (c *Client) Allowed(ctx context.Context, right request.Right) (bool, error) {
	body := object.Append(nil, map[string]any{
		"apiVersion": authorizationv1.SchemeGroupVersion.String(), "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{
			"verb": right.Verb, "group": right.Resource.Group, "resource": right.Resource.Resource, "subresource": right.Subresource,
			"namespace": right.Namespace, "name": right.Name,
		}},
	})
	review, err := answer(do(ctx, c.request(c.rest.Post(), request.Location{Resource: reviews}).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body)))
	if err != nil {
		return false, err
	}
	allowed, _, _ := unstructured.NestedBool(review.Content(), "status", "allowed")
	return allowed, nil
}

// MayWatch asks the server whether the client's user may watch a resource, as Allowed does. A role can permit a watch that selects one
// object by its name.
func (c *Client) MayWatch(ctx context.Context, resource schema.GroupVersionResource, namespace, fieldSelector string) (bool, error) {
	right := request.Right{Verb: "watch", Resource: resource.GroupResource(), Namespace: namespace}
	if selector, err := fields.ParseSelector(fieldSelector); err == nil {
		right.Name, _ = selector.RequiresExactMatch("metadata.name")
	}
	return c.Allowed(ctx, right)
}
