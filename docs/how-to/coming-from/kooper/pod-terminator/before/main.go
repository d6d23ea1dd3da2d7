//go:build ignore

// The operator of PodTerminators, written with Kooper: from time to time it
// deletes some of the Pods that a PodTerminator selects.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spotahome/kooper/v2/controller"
	"github.com/spotahome/kooper/v2/log"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var terminators = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "podterminators"}

// spec is what a PodTerminator asks for.
type spec struct {
	Selector map[string]string `json:"selector"`
	Every    int64             `json:"everyMinutes"`
	Percent  int               `json:"percent"`
	Keep     int               `json:"keep"`
	DryRun   bool              `json:"dryRun"`
}

// terminator deletes Pods for one PodTerminator until it is stopped.
type terminator struct {
	generation int64
	stop       context.CancelFunc
}

type handler struct {
	pods    kubernetes.Interface
	parents dynamic.NamespaceableResourceInterface

	mu      sync.Mutex
	running map[string]terminator
}

// Handle starts a terminator for each PodTerminator, and anew when its spec has changed.
func (h *handler) Handle(ctx context.Context, obj runtime.Object) error {
	parent, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("got a %T", obj)
	}
	var wanted spec
	content, _, err := unstructured.NestedMap(parent.Object, "spec")
	if err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &wanted); err != nil {
		return err
	}
	key := parent.GetNamespace() + "/" + parent.GetName()
	h.mu.Lock()
	defer h.mu.Unlock()
	old, found := h.running[key]
	if found && old.generation == parent.GetGeneration() {
		return nil
	}
	if found {
		old.stop()
	}
	// The context of this call ends with it, so the terminator gets one of its own.
	loop, stop := context.WithCancel(context.Background())
	h.running[key] = terminator{generation: parent.GetGeneration(), stop: stop}
	go h.run(loop, parent, wanted)
	return nil
}

// run ends when the PodTerminator is gone: Kooper does not tell of that.
func (h *handler) run(ctx context.Context, parent *unstructured.Unstructured, wanted spec) {
	namespace := parent.GetNamespace()
	ticks := time.NewTicker(time.Duration(wanted.Every) * time.Minute)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			_, err := h.parents.Namespace(namespace).Get(ctx, parent.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return
			}
			if err := h.terminate(ctx, namespace, wanted); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}
}

func (h *handler) terminate(ctx context.Context, namespace string, wanted spec) error {
	selector := labels.SelectorFromSet(wanted.Selector).String()
	list, err := h.pods.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return err
	}
	for _, pod := range victims(list.Items, wanted) {
		if wanted.DryRun {
			fmt.Println("would delete", pod.Name)
			continue
		}
		if err := h.pods.CoreV1().Pods(namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// victims chooses the share of the Pods that goes, at random, so that enough are left.
func victims(pods []corev1.Pod, wanted spec) []corev1.Pod {
	n := min(len(pods)*wanted.Percent/100, max(len(pods)-wanted.Keep, 0))
	rand.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	return pods[:n]
}

func run(ctx context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	pods, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	parents := client.Resource(terminators)
	ctrl, err := controller.New(&controller.Config{
		Name:    "pod-terminator",
		Handler: &handler{pods: pods, parents: parents, running: map[string]terminator{}},
		Retriever: controller.MustRetrieverFromListerWatcher(&cache.ListWatch{
			ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
				return parents.List(ctx, options)
			},
			WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
				return parents.Watch(ctx, options)
			},
		}),
		Logger: log.Dummy,
	})
	if err != nil {
		return err
	}
	return ctrl.Run(ctx)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
