package related

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// pods is a namespaced kind.
var pods = kind.Kind{Kind: "Pod", Namespaced: true, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}}

// pod returns a Pod with a label and a phase.
func pod(t testing.TB, namespace, name, app, phase string, version int) *object.Object {
	t.Helper()
	o, err := object.From(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "status": map[string]any{"phase": phase},
		"metadata": map[string]any{"namespace": namespace, "name": name, "uid": "uid-" + name, "resourceVersion": fmt.Sprint(version), "labels": map[string]any{"app": app}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// entryOf returns an entry for Pods in all namespaces, with a select template unless bare is true.
func entryOf(t testing.TB, bare bool) *Entry {
	t.Helper()
	of := &v1.Related{Name: "pods", Select: "name: {{ .spec.pod }}"}
	if bare {
		of.Select = ""
	}
	cache, err := watch.NewCache(watch.Want{Resource: pods.Resource, Role: watch.Related}, func(watch.Event) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return &Entry{Related: &spec.Related{Related: of}, Kind: pods, Index: NewIndex(nil, ""), Caches: map[string]*watch.Cache{"": cache}}
}

// choose computes the selection of a parent.
func (e *Entry) choose(t testing.TB, parent types.NamespacedName, yielded ...map[string]any) Selection {
	t.Helper()
	s, issue := e.Choose(parent, yielded, 1<<20)
	if issue != nil {
		t.Fatal(issue.Message)
	}
	return s
}

// woken returns the parents for which Changed calls wake.
func (e *Entry) woken(before, after *object.Object) []string {
	names := []string{}
	e.Changed(watch.Event{Old: before, New: after}, func(parent types.NamespacedName) { names = append(names, parent.Name) })
	slices.Sort(names)
	return slices.Compact(names)
}

func in(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}
