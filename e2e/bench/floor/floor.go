// Package floor is the baseline for the operator: bare client-go informers on both kinds, and no requests other than
// the unavoidable writes. It makes no individual reads and renders no templates; plain Go code builds its objects.
package floor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/templater-dev/templater/e2e/bench/workload"
)

// Log lines of the floor.
const (
	Synced = "synced"  // its informers have synced
	Failed = "failed:" // a reconciliation failed; followed by the error
)

// Options configure a floor.
type Options struct {
	Config  *rest.Config
	Task    workload.Task
	Workers int
	// Cheapest makes the floor create children by POST, and change them and the status by JSON merge patches of the
	// changed fields, instead of server-side apply.
	Cheapest bool
	Out      io.Writer // log
}

// floor is a running floor.
type floor struct {
	task     workload.Task
	writer   *rest.RESTClient
	workers  int
	cheapest bool
	queue    workqueue.TypedRateLimitingInterface[types.NamespacedName]
	parents  cache.SharedIndexInformer
	children cache.SharedIndexInformer
	out      io.Writer

	mu   sync.Mutex
	done map[types.UID]written
}

// written is the last write for a parent.
type written struct {
	generation int64
	phases     string
}

// Run runs the floor until ctx ends.
func Run(ctx context.Context, o Options) error {
	config := rest.CopyConfig(o.Config)
	config.QPS, config.Burst = -1, -1
	config.UserAgent = "floor"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	writer, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(config))
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	f := &floor{
		task: o.Task, writer: writer, workers: o.Workers, cheapest: o.Cheapest, out: o.Out, done: map[types.UID]written{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()),
	}
	f.parents = dynamicinformer.NewFilteredDynamicInformer(client, o.Task.Parents(), metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	f.children = dynamicinformer.NewFilteredDynamicInformer(client, o.Task.ChildResource(), metav1.NamespaceAll, 0, cache.Indexers{}, func(list *metav1.ListOptions) {
		list.LabelSelector = workload.Selector
	}).Informer()
	if err := f.handle(); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	f.run(ctx)
	return nil
}

// run runs the informers and the workers until ctx ends.
func (f *floor) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { f.parents.RunWithContext(ctx) })
	running.Go(func() { f.children.RunWithContext(ctx) })
	if !cache.WaitFor(ctx, "", f.parents.HasSyncedChecker(), f.children.HasSyncedChecker()) {
		return
	}
	fmt.Fprintln(f.out, Synced)
	for range f.workers {
		running.Go(func() { f.work(ctx) })
	}
	<-ctx.Done()
	f.queue.ShutDown()
}

func (f *floor) work(ctx context.Context) {
	for {
		key, shutdown := f.queue.Get()
		if shutdown {
			return
		}
		err := f.reconcile(ctx, key)
		if err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintln(f.out, Failed, err)
			f.queue.AddRateLimited(key)
		} else {
			f.queue.Forget(key)
		}
		f.queue.Done(key)
	}
}

// handle enqueues the parents of new and changed objects.
func (f *floor) handle() error {
	_, err := f.parents.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: f.enqueue,
		UpdateFunc: func(before, after any) {
			if before.(*unstructured.Unstructured).GetGeneration() != after.(*unstructured.Unstructured).GetGeneration() {
				f.enqueue(after)
			}
		},
	})
	if err != nil || f.task.ChildKind != workload.Pod {
		return err
	}
	_, err = f.children.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			if pod := after.(*unstructured.Unstructured); pod.GetLabels()[workload.Selector] == f.task.Name && phase(before.(*unstructured.Unstructured)) != phase(pod) {
				f.queue.Add(types.NamespacedName{Namespace: pod.GetNamespace(), Name: ownerName(pod)})
			}
		},
	})
	return err
}

func (f *floor) enqueue(o any) {
	parent := o.(*unstructured.Unstructured)
	f.queue.Add(types.NamespacedName{Namespace: parent.GetNamespace(), Name: parent.GetName()})
}

func phase(pod *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	return phase
}

func ownerName(o *unstructured.Unstructured) string {
	if owners := o.GetOwnerReferences(); len(owners) > 0 {
		return owners[0].Name
	}
	return ""
}
