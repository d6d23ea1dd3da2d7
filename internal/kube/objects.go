package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

// Objects reads and writes whole objects, with managedFields, which Client omits. It is for commands, and safe for concurrent use.
type Objects struct{ client dynamic.Interface }

// NewObjects returns Objects for a client.
func NewObjects(client dynamic.Interface) *Objects { return &Objects{client} }

func (o *Objects) in(at request.Location) dynamic.ResourceInterface {
	return o.client.Resource(at.Resource).Namespace(at.Namespace)
}

// Get reads an object.
func (o *Objects) Get(ctx context.Context, at request.Location) (*unstructured.Unstructured, error) {
	return o.in(at).Get(ctx, at.Name, metav1.GetOptions{})
}

// List reads the objects of a cluster-scoped resource that a label selector matches.
func (o *Objects) List(ctx context.Context, resource schema.GroupVersionResource, labels string) (*unstructured.UnstructuredList, error) {
	return o.client.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: labels})
}

// Watch watches an object, from a resource version on. The objects of its events are *unstructured.Unstructured.
func (o *Objects) Watch(ctx context.Context, at request.Location, version string) (watch.Interface, error) {
	return o.in(at).Watch(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: at.Name, ResourceVersion: version}))
}

// Merge is like Merge of Client.
func (o *Objects) Merge(ctx context.Context, at request.Location, patch map[string]any, manager string) error {
	_, err := o.in(at).Patch(ctx, at.Name, types.MergePatchType, object.Append(nil, patch), metav1.PatchOptions{FieldManager: manager})
	return err
}

// Update replaces an object if it still has the resource version in the new content, else it returns Conflict. A dry run stores nothing.
func (o *Objects) Update(ctx context.Context, at request.Location, content *unstructured.Unstructured, u request.Update) error {
	options := metav1.UpdateOptions{FieldManager: u.Manager}
	if u.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	_, err := o.in(at).Update(ctx, content, options)
	return err
}
