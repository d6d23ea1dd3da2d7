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

	"github.com/templater-dev/templater/e2e/bench/workload"
)

// pass writes the children of a new or changed parent and its status, and only
// the status if nothing but the phase of a Pod has changed.
func (f *floor) pass(ctx context.Context, key types.NamespacedName) error {
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
		if err := f.applyChildren(ctx, parent); err != nil {
			return err
		}
		if f.task.ChildKind == workload.Pod { // they may have been seen only now
			phases = f.phases(parent)
			now.phases = strings.Join(phases, ",")
		}
	}
	if err := f.apply(ctx, f.task.Parents(), f.task.Status(parent, phases), "status"); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done[parent.GetUID()] = now
	return nil
}

// last is what was written last for the parent, by an earlier process if not by this one.
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

// phases are those of the parent's Pods, Pending for those that are not seen yet, and nil for ConfigMaps.
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

func (f *floor) applyChildren(ctx context.Context, parent *unstructured.Unstructured) error {
	for i := range f.task.Children {
		content := f.task.Child(parent, i, f.child(parent, i) == nil)
		if err := f.apply(ctx, f.task.ChildResource(), content); err != nil {
			return err
		}
	}
	return nil
}

// apply makes a server-side apply as the operator does.
func (f *floor) apply(ctx context.Context, resource schema.GroupVersionResource, content map[string]any, subresource ...string) error {
	metadata, _ := content["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	body, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	path := append([]string{root(resource), "namespaces", namespace, resource.Resource, name}, subresource...)
	return f.writer.Patch(types.ApplyPatchType).AbsPath(path...).Body(body).
		Param("fieldManager", f.task.Manager()).Param("force", "true").Param("fieldValidation", metav1.FieldValidationStrict).
		Do(ctx).Error() // which decodes no answer but an error
}

// root is where the API server serves a group and version.
func root(resource schema.GroupVersionResource) string {
	if resource.Group == "" {
		return "/api/" + resource.Version
	}
	return "/apis/" + resource.Group + "/" + resource.Version
}
