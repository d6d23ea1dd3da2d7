package kube

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Client makes requests. It is safe for concurrent use. Its errors are those of
// the API server, unwrapped, so that apierrors tells them apart; their text may
// hold values of objects, so it is not for publishing.
type Client struct {
	dynamic dynamic.Interface
}

// NewClient returns a client that makes its requests through d.
func NewClient(d dynamic.Interface) *Client { return &Client{dynamic: d} }

// Object names an object on the server.
type Object struct {
	Resource  schema.GroupVersionResource
	Namespace string // empty for cluster-scoped resources
	Name      string
}

// Get reads an object.
func (c *Client) Get(ctx context.Context, o Object) (*unstructured.Unstructured, error) {
	return c.resource(o).Get(ctx, o.Name, metav1.GetOptions{})
}

// Selected reports whether an object exists that matches both selectors.
func (c *Client) Selected(ctx context.Context, o Object, labels, fieldSelector string) (bool, error) {
	name := fields.OneTermEqualSelector("metadata.name", o.Name).String()
	if fieldSelector != "" {
		name += "," + fieldSelector
	}
	list, err := c.resource(o).List(ctx, metav1.ListOptions{LabelSelector: labels, FieldSelector: name})
	if err != nil {
		return false, err
	}
	return len(list.Items) > 0, nil
}

// Apply makes a server-side apply of content as the field manager, taking over
// fields of others, and returns the object as the server has it then.
//
// A metadata.resourceVersion of "1" in content makes it a create that answers
// AlreadyExists or Conflict when an object of that name exists; a metadata.uid makes it an
// update that answers Invalid or Conflict when the object is not that one.
func (c *Client) Apply(ctx context.Context, o Object, content map[string]any, manager string) (*unstructured.Unstructured, error) {
	return c.apply(ctx, o, content, manager)
}

// ApplyStatus is Apply for the status subresource.
func (c *Client) ApplyStatus(ctx context.Context, o Object, content map[string]any, manager string) (*unstructured.Unstructured, error) {
	return c.apply(ctx, o, content, manager, "status")
}

func (c *Client) apply(ctx context.Context, o Object, content map[string]any, manager string, subresource ...string) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.Name, err)
	}
	force := true
	return c.resource(o).Patch(ctx, o.Name, types.ApplyPatchType, body, metav1.PatchOptions{
		FieldManager: manager, Force: &force, FieldValidation: metav1.FieldValidationStrict,
	}, subresource...)
}

// Delete asks for the deletion of the object with that UID; it may take its time
// to go. It returns nil also when the object was gone before. A Conflict says
// that the object of that name is another one by now.
func (c *Client) Delete(ctx context.Context, o Object, uid types.UID, propagation metav1.DeletionPropagation) error {
	err := c.resource(o).Delete(ctx, o.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &propagation,
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// SetFinalizers replaces the finalizers of an object, provided that it still has
// the resource version that it has in current.
func (c *Client) SetFinalizers(ctx context.Context, o Object, current *unstructured.Unstructured, finalizers []string) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": current.GetResourceVersion(), "finalizers": finalizers,
	}})
	if err != nil {
		return nil, err
	}
	return c.resource(o).Patch(ctx, o.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "templater"})
}

func (c *Client) resource(o Object) dynamic.ResourceInterface {
	if o.Namespace == "" {
		return c.dynamic.Resource(o.Resource)
	}
	return c.dynamic.Resource(o.Resource).Namespace(o.Namespace)
}
