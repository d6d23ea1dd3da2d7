package bed

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/templater-dev/templater/e2e/bench/observe"
	"github.com/templater-dev/templater/e2e/bench/workload"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// atOnce is the number of concurrent requests of the benchmark.
const atOnce = 16

// Fill creates parents of a kind, numbered from first up to but not including end.
func (b *Bed) Fill(ctx context.Context, kind string, first, end int) error {
	return each(first, end, func(i int) error { return b.Create(ctx, kind, workload.ParentName(i)) })
}

// Create creates one parent.
func (b *Bed) Create(ctx context.Context, kind, name string) error {
	_, err := b.in(workload.Resource(kind)).Create(ctx, workload.Parent(kind, name), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create parent %s: %w", name, err)
	}
	return nil
}

// Paint changes the color of parents, numbered from first up to but not including end.
func (b *Bed) Paint(ctx context.Context, kind string, first, end int, color string) error {
	patch := fmt.Appendf(nil, `{"spec":{"color":%q}}`, color)
	return each(first, end, func(i int) error {
		_, err := b.in(workload.Resource(kind)).Patch(ctx, workload.ParentName(i), types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

// Delete deletes one parent.
func (b *Bed) Delete(ctx context.Context, kind, name string) error {
	return b.in(workload.Resource(kind)).Delete(ctx, name, metav1.DeleteOptions{})
}

// each calls f for all numbers, atOnce at a time, and returns the first error.
func each(first, end int, f func(int) error) error {
	numbers, errs := make(chan int), make(chan error, 1)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for i := range numbers {
				if err := f(i); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		})
	}
	for i := first; i < end && len(errs) == 0; i++ {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
	close(errs)
	return <-errs
}

// Clear deletes all TemplateControllers, children and parents, and returns once they are deleted and the garbage
// collector is idle. No contender may be running.
func (b *Bed) Clear(ctx context.Context, kinds ...string) error {
	if err := b.dynamic.Resource(workload.Controllers).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: ours}); err != nil {
		return fmt.Errorf("delete TemplateControllers: %w", err)
	}
	// Children first, because the garbage collector deletes them more slowly.
	for _, resource := range []schema.GroupVersionResource{configMaps, pods} {
		if err := b.empty(ctx, resource, workload.Selector); err != nil {
			return err
		}
	}
	for _, kind := range kinds {
		if err := b.empty(ctx, workload.Resource(kind), ""); err != nil {
			return err
		}
	}
	return b.Settle(ctx)
}

func (b *Bed) empty(ctx context.Context, resource schema.GroupVersionResource, selector string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	set := observe.Set{Resource: resource, Namespace: workload.Namespace, Selector: selector}
	return poll.Until(ctx, 200*time.Millisecond, func() error {
		now := int64(0)
		options := metav1.DeleteOptions{GracePeriodSeconds: &now}
		err := b.in(resource).DeleteCollection(ctx, options, metav1.ListOptions{LabelSelector: selector})
		if err != nil && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) {
			return fmt.Errorf("delete %s: %w", resource.Resource, err)
		}
		sizes, err := b.Observer.Sizes(ctx, set, 1)
		if err == nil && len(sizes) > 0 {
			err = fmt.Errorf("some %s are still there", resource.Resource)
		}
		return err
	})
}

func (b *Bed) in(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return b.dynamic.Resource(resource).Namespace(workload.Namespace)
}

// Set selects the parents of a kind.
func Set(kind string) observe.Set {
	return observe.Set{Resource: workload.Resource(kind), Namespace: workload.Namespace}
}

// Children selects the children of a task.
func Children(task workload.Task) observe.Set {
	return observe.Set{Resource: task.ChildResource(), Namespace: workload.Namespace, Selector: task.Selector()}
}

// ChildrenOf returns the names of a parent's children.
func (b *Bed) ChildrenOf(ctx context.Context, task workload.Task, parent string) ([]string, error) {
	children, err := b.Observer.List(ctx, Children(task))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, child := range children.Items {
		if strings.HasPrefix(child.Metadata.Name, parent+"-") {
			names = append(names, child.Metadata.Name)
		}
	}
	return names, nil
}

// Example returns a complete object.
func (b *Bed) Example(ctx context.Context, resource schema.GroupVersionResource, name string) (*unstructured.Unstructured, error) {
	return b.in(resource).Get(ctx, name, metav1.GetOptions{})
}
