package floor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/e2e/bench/workload"
)

// reconcile writes the children of a new or changed parent and its status, or only the status if nothing but the phase
// of a Pod has changed.
func (f *floor) reconcile(ctx context.Context, key types.NamespacedName) error {
	o, exists, err := f.parents.GetStore().GetByKey(key.String())
	if err != nil || !exists {
		return err
	}
	parent := o.(*unstructured.Unstructured)
	last := f.last(parent)
	phases := f.phases(parent)
	now := written{parent.GetGeneration(), strings.Join(phases, ",")}
	if now == last {
		return nil
	}
	if now.generation != last.generation {
		if err := f.writeChildren(ctx, parent); err != nil {
			return err
		}
		if f.task.ChildKind == workload.Pod { // they may have been observed only now
			phases = f.phases(parent)
			now.phases = strings.Join(phases, ",")
		}
	}
	if err := f.writeStatus(ctx, f.task.Status(parent, phases)); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done[parent.GetUID()] = now
	return nil
}

// last is the last write for the parent, also one of an earlier process.
func (f *floor) last(parent *unstructured.Unstructured) written {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last, ok := f.done[parent.GetUID()]; ok {
		return last
	}
	conditions, _, _ := unstructured.NestedSlice(parent.Object, "status", "conditions")
	phases, _, _ := unstructured.NestedStringSlice(parent.Object, "status", "phases")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if generation, ok := condition["observedGeneration"].(int64); ok && condition["type"] == f.task.ReadyCondition() {
			return written{generation, strings.Join(phases, ",")}
		}
	}
	return written{}
}

// phases are the phases of the parent's Pods, Pending for those not observed yet, and nil for ConfigMaps.
func (f *floor) phases(parent *unstructured.Unstructured) []string {
	if f.task.ChildKind != workload.Pod {
		return nil
	}
	phases := make([]string, f.task.Children)
	for i := range phases {
		phases[i] = "Pending"
		if pod := f.child(parent, i); pod != nil {
			phases[i] = phase(pod)
		}
	}
	return phases
}

func (f *floor) child(parent *unstructured.Unstructured, i int) *unstructured.Unstructured {
	o, exists, err := f.children.GetStore().GetByKey(parent.GetNamespace() + "/" + f.task.ChildName(parent.GetName(), i))
	if err != nil || !exists {
		return nil
	}
	return o.(*unstructured.Unstructured)
}

func (f *floor) writeChildren(ctx context.Context, parent *unstructured.Unstructured) error {
	for i := range f.task.Children {
		if err := f.writeChild(ctx, parent, i); err != nil {
			return err
		}
	}
	return nil
}

func (f *floor) writeChild(ctx context.Context, parent *unstructured.Unstructured, i int) error {
	create := f.child(parent, i) == nil
	content := f.task.Child(parent, i, create && !f.cheapest)
	resource := f.task.ChildResource()
	switch {
	case !f.cheapest:
		return f.apply(ctx, resource, content)
	case create:
		return f.write(ctx, f.writer.Post().AbsPath(root(resource), "namespaces", parent.GetNamespace(), resource.Resource), content)
	}
	return f.merge(ctx, resource, content, "data")
}

func (f *floor) writeStatus(ctx context.Context, content map[string]any) error {
	if f.cheapest {
		return f.merge(ctx, f.task.Parents(), content, "status", "status")
	}
	return f.apply(ctx, f.task.Parents(), content, "status")
}

// apply makes the same server-side apply as the operator.
func (f *floor) apply(ctx context.Context, resource schema.GroupVersionResource, content map[string]any, subresource ...string) error {
	request := f.writer.Patch(types.ApplyPatchType).AbsPath(path(resource, content, subresource...)).Param("force", "true")
	return f.write(ctx, request, content)
}

// merge makes a JSON merge patch of one field.
func (f *floor) merge(ctx context.Context, resource schema.GroupVersionResource, content map[string]any, field string, subresource ...string) error {
	request := f.writer.Patch(types.MergePatchType).AbsPath(path(resource, content, subresource...))
	return f.write(ctx, request, map[string]any{field: content[field]})
}

func (f *floor) write(ctx context.Context, request *rest.Request, body map[string]any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode a request: %w", err)
	}
	return request.Body(data).Param("fieldManager", f.task.Manager()).Param("fieldValidation", metav1.FieldValidationStrict).
		Do(ctx).Error() // decodes errors only
}

// path is the URL path of an object.
func path(resource schema.GroupVersionResource, content map[string]any, subresource ...string) string {
	metadata, _ := content["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	return strings.Join(append([]string{root(resource), "namespaces", namespace, resource.Resource, name}, subresource...), "/")
}

// root is the URL path of a group and version.
func root(resource schema.GroupVersionResource) string {
	if resource.Group == "" {
		return "/api/" + resource.Version
	}
	return "/apis/" + resource.Group + "/" + resource.Version
}
