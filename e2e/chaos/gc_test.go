package main

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

var lostMap = model.ChildID{Resource: "configmaps", Namespace: "chaos-a", Name: "report-p"}

// lostObject is an object lost by the garbage collector, and the time at which that is certain.
func lostObject() (*unstructured.Unstructured, time.Time) {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	o.SetNamespace(lostMap.Namespace)
	o.SetName(lostMap.Name)
	o.SetUID("uid-lost")
	o.SetFinalizers([]string{metav1.FinalizerDeleteDependents})
	deleted := metav1.Unix(1700000000, 0)
	o.SetDeletionTimestamp(&deleted)
	return o, deleted.Add(lostAfter + time.Second)
}

func TestLostObjectDetection(t *testing.T) {
	for why, row := range map[string]struct {
		change func(*unstructured.Unstructured)
		needed types.UID
		early  time.Duration
		want   bool
	}{
		"lost":                                 {want: true},
		"the garbage collector still has time": {early: 2 * time.Second},
		"a dependent exists":                   {needed: "uid-lost"},
		"another object has a dependent":       {needed: "uid-other", want: true},
		"it is not being deleted":              {change: func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(nil) }},
		"another finalizer, too": {change: func(o *unstructured.Unstructured) {
			o.SetFinalizers([]string{metav1.FinalizerDeleteDependents, foreignFinalizer})
		}},
		"only another finalizer": {change: func(o *unstructured.Unstructured) { o.SetFinalizers([]string{foreignFinalizer}) }},
		"no finalizer":           {change: func(o *unstructured.Unstructured) { o.SetFinalizers(nil) }},
	} {
		t.Run(why, func(t *testing.T) {
			o, now := lostObject()
			if row.change != nil {
				row.change(o)
			}
			if got := lost(o, map[types.UID]bool{row.needed: true}, now.Add(-row.early)); got != row.want {
				t.Errorf("lost: %v, want %v", got, row.want)
			}
		})
	}
}

func TestReleaseLost(t *testing.T) {
	o, now := lostObject()
	dependent := o.DeepCopy()
	dependent.SetName("dependent")
	dependent.SetOwnerReferences([]metav1.OwnerReference{{UID: o.GetUID()}})
	var out strings.Builder
	b := &harness{client: fake.NewSimpleDynamicClient(runtime.NewScheme(), o), out: &out}
	finalizers := func() int {
		after, err := b.children(lostMap).Get(t.Context(), lostMap.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return len(after.GetFinalizers())
	}

	f := &found{children: map[model.ChildID]*unstructured.Unstructured{lostMap: o, {Resource: "configmaps", Name: "dependent"}: dependent}}
	b.releaseLost(t.Context(), f, now)
	if got := finalizers(); got != 1 || b.lost != 0 {
		t.Errorf("an object on which another depends has %d finalizers, and %d are counted", got, b.lost)
	}

	delete(f.children, model.ChildID{Resource: "configmaps", Name: "dependent"})
	b.releaseLost(t.Context(), f, now)
	if got := finalizers(); got != 0 || b.lost != 1 {
		t.Errorf("a lost object has %d finalizers, and %d are counted", got, b.lost)
	}
	if !strings.Contains(out.String(), lostMap.String()) {
		t.Errorf("it is not reported: %q", &out)
	}
}

// TestOwnerlessObjectDetection checks an object twice, the second time when it may be lost.
func TestOwnerlessObjectDetection(t *testing.T) {
	owner := &unstructured.Unstructured{}
	owner.SetUID("uid-owner")
	for why, row := range map[string]struct {
		change func(*found, *unstructured.Unstructured)
		early  time.Duration
		want   int
	}{
		"its owner was deleted":                {want: 1},
		"the garbage collector still has time": {early: time.Second},
		"its owner exists":                     {change: func(f *found, _ *unstructured.Unstructured) { f.parents[model.ParentID{}] = owner }},
		"its owner is a child":                 {change: func(f *found, _ *unstructured.Unstructured) { f.children[model.ChildID{}] = owner }},
		"no owner":                             {change: func(_ *found, o *unstructured.Unstructured) { o.SetOwnerReferences(nil) }},
		"it is being deleted":                  {change: func(_ *found, o *unstructured.Unstructured) { o.SetDeletionTimestamp(&metav1.Time{Time: time.Now()}) }},
		"its TemplateController exists":        {change: func(f *found, o *unstructured.Unstructured) { f.controllers["report"] = o }},
		"its controller label was changed": {change: func(f *found, o *unstructured.Unstructured) {
			f.controllers["again"] = o
			o.SetLabels(map[string]string{"templater.dev/controller": "again"})
		}, want: 1},
		"not applied by templater": {change: func(f *found, o *unstructured.Unstructured) {
			f.controllers["report"] = o
			o.SetLabels(map[string]string{"templater.dev/controller": "report", foreignLabel: "x"})
		}, want: 1},
	} {
		t.Run(why, func(t *testing.T) {
			o, now := lostObject()
			o.SetDeletionTimestamp(nil)
			o.SetLabels(map[string]string{"templater.dev/controller": "report"})
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "templater/report"}})
			o.SetOwnerReferences([]metav1.OwnerReference{{UID: "uid-owner"}})
			f := &found{children: map[model.ChildID]*unstructured.Unstructured{lostMap: o}, parents: map[model.ParentID]*unstructured.Unstructured{}, controllers: map[string]*unstructured.Unstructured{}}
			if row.change != nil {
				row.change(f, o)
			}
			m := ownerless{}
			if early := m.lost(f, now); len(early) > 0 {
				t.Errorf("lost at the first look: %v", early)
			}
			if got := m.lost(f, now.Add(lostAfter+time.Millisecond-row.early)); len(got) != row.want {
				t.Errorf("lost: %d objects, want %d", len(got), row.want)
			}
			if delete(f.children, lostMap); len(m.lost(f, now)) != 0 || m[o.GetUID()] != (time.Time{}) {
				t.Errorf("an object that is gone is remembered: %v", m)
			}
		})
	}
}

func TestStuckOrphanFinalizerDetection(t *testing.T) {
	for why, row := range map[string]struct {
		finalizers []string
		early      time.Duration
		want       bool
	}{
		"only the finalizer of the garbage collector": {finalizers: []string{metav1.FinalizerOrphanDependents}, want: true},
		"the garbage collector still has time":        {finalizers: []string{metav1.FinalizerOrphanDependents}, early: 2 * time.Second},
		"a finalizer of templater, too":               {finalizers: []string{"finalize.templater.dev/one", metav1.FinalizerOrphanDependents}},
		"the garbage collector is done":               {finalizers: []string{foreignFinalizer}},
	} {
		t.Run(why, func(t *testing.T) {
			o, now := lostObject()
			o.SetFinalizers(row.finalizers)
			if got := neverOrphaned(o, now.Add(-row.early)); got != row.want {
				t.Errorf("never orphaned: %v, want %v", got, row.want)
			}
		})
	}
}
