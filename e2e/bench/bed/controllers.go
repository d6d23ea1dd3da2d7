package bed

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/bench/observe"
	"github.com/templater-dev/templater/e2e/bench/workload"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// AddController creates the TemplateController of a task.
func (b *Bed) AddController(ctx context.Context, task workload.Task) error {
	if _, err := b.dynamic.Resource(workload.Controllers).Create(ctx, task.Controller(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create TemplateController %s: %w", task.Name, err)
	}
	return nil
}

// AddControllers creates the TemplateControllers of many tasks.
func (b *Bed) AddControllers(ctx context.Context, tasks []workload.Task) error {
	return each(0, len(tasks), func(i int) error { return b.AddController(ctx, tasks[i]) })
}

// RemoveController deletes the TemplateController of a task; its children are kept.
func (b *Bed) RemoveController(ctx context.Context, task workload.Task) error {
	err := b.dynamic.Resource(workload.Controllers).Delete(ctx, task.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete TemplateController %s: %w", task.Name, err)
	}
	return nil
}

// PatchController changes the spec of a TemplateController.
func (b *Bed) PatchController(ctx context.Context, name string, spec map[string]any) error {
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return err
	}
	if _, err := b.dynamic.Resource(workload.Controllers).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("change TemplateController %s: %w", name, err)
	}
	return nil
}

// AwaitController waits until the operator has observed the current spec.
func (b *Bed) AwaitController(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return poll.Until(ctx, 20*time.Millisecond, func() error {
		o, err := b.dynamic.Resource(workload.Controllers).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if o.GetGeneration() != observed(o.Object) {
			return fmt.Errorf("the operator has not seen the last change of TemplateController %s: look at its log", name)
		}
		return nil
	})
}

// AwaitParents waits until the TemplateController counts that many parents.
func (b *Bed) AwaitParents(ctx context.Context, name string, want int64) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return poll.Until(ctx, 50*time.Millisecond, func() error {
		o, err := b.dynamic.Resource(workload.Controllers).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedInt64(o.Object, "status", "parents", "total"); got != want {
			return fmt.Errorf("TemplateController %s counts %d parents, want %d", name, got, want)
		}
		return nil
	})
}

func observed(content map[string]any) int64 {
	status, _ := content["status"].(map[string]any)
	generation, _ := status["observedGeneration"].(int64)
	return generation
}

// ControllerSet selects all TemplateControllers of a run.
func ControllerSet() observe.Set {
	return observe.Set{Resource: workload.Controllers, Selector: ours}
}
