//go:build ignore

// The operator of LabelWatches, written with Kooper: each of them keeps a
// ConfigMap with the names of the Pods that have a label.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sort"
	"strings"
	"syscall"

	"github.com/spotahome/kooper/v2/controller"
	"github.com/spotahome/kooper/v2/log"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var watches = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "labelwatches"}

type clients struct {
	core    kubernetes.Interface
	parents dynamic.NamespaceableResourceInterface
}

// handleWatch writes the list and the status of one LabelWatch.
func (c clients) handleWatch(ctx context.Context, obj runtime.Object) error {
	parent, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("got a %T", obj)
	}
	namespace := parent.GetNamespace()
	label, _, err := unstructured.NestedString(parent.Object, "spec", "label")
	if err != nil {
		return err
	}
	pods, err := c.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: label})
	if err != nil {
		return err
	}
	names := make([]string, 0, len(pods.Items))
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	sort.Strings(names)
	if err := c.writeList(ctx, parent, strings.Join(names, " ")); err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"status":{"pods":%d}}`, len(names))
	_, err = c.parents.Namespace(namespace).Patch(ctx, parent.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}

func (c clients) writeList(ctx context.Context, parent *unstructured.Unstructured, names string) error {
	yes := true
	wanted := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:      parent.GetName() + "-pods",
			Namespace: parent.GetNamespace(),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: parent.GetAPIVersion(), Kind: parent.GetKind(),
				Name: parent.GetName(), UID: parent.GetUID(), Controller: &yes,
			}},
		},
		Data: map[string]string{"pods": names},
	}
	maps := c.core.CoreV1().ConfigMaps(wanted.Namespace)
	found, err := maps.Get(ctx, wanted.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = maps.Create(ctx, wanted, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	if found.Data["pods"] == names {
		return nil
	}
	found.Data = wanted.Data
	_, err = maps.Update(ctx, found, metav1.UpdateOptions{})
	return err
}

// handlePod looks at all LabelWatches of the Pod's namespace. Kooper calls it
// when a Pod comes or changes, and not when it goes: the resync finds that.
func (c clients) handlePod(ctx context.Context, obj runtime.Object) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("got a %T", obj)
	}
	list, err := c.parents.Namespace(pod.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var failed error
	for i := range list.Items {
		failed = errors.Join(failed, c.handleWatch(ctx, &list.Items[i]))
	}
	return failed
}

func start(ctx context.Context, name string, handle controller.HandlerFunc, from *cache.ListWatch) error {
	ctrl, err := controller.New(&controller.Config{
		Name:      name,
		Handler:   handle,
		Retriever: controller.MustRetrieverFromListerWatcher(from),
		Logger:    log.Dummy,
	})
	if err != nil {
		return err
	}
	return ctrl.Run(ctx)
}

func run(ctx context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	c := clients{core: core, parents: client.Resource(watches)}
	failed := make(chan error, 2)
	go func() {
		failed <- start(ctx, "labelwatches", c.handleWatch, &cache.ListWatch{
			ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
				return c.parents.List(ctx, options)
			},
			WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
				return c.parents.Watch(ctx, options)
			},
		})
	}()
	go func() {
		failed <- start(ctx, "pods", c.handlePod, &cache.ListWatch{
			ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
				return core.CoreV1().Pods("").List(ctx, options)
			},
			WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
				return core.CoreV1().Pods("").Watch(ctx, options)
			},
		})
	}()
	return <-failed
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
