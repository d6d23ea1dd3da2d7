package operator

import (
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
)

func TestConditionWriters(t *testing.T) {
	set := func(tc *v1.TemplateController, kind string, status metav1.ConditionStatus, reason string) {
		for i := range tc.Status.Conditions {
			if c := &tc.Status.Conditions[i]; c.Type == kind {
				c.Status, c.Reason = status, reason
			}
		}
	}
	now := metav1.Now()
	for _, row := range []struct {
		why    string
		change func(*v1.TemplateController)
		want   bool
	}{
		{"accepted, and parents can hold the condition", func(*v1.TemplateController) {}, true},
		{"another version of the kind", func(tc *v1.TemplateController) { tc.Spec.Watch.APIVersion = "example.org/v2" }, true},
		{"another class", func(tc *v1.TemplateController) { tc.Spec.ClassName = "other" }, true},
		{"parents have it from another writer", func(tc *v1.TemplateController) {
			set(tc, v1.ConditionStatusWritable, metav1.ConditionFalse, v1.ReasonConditionOwned)
		}, true},
		{"another field of the status is contested", func(tc *v1.TemplateController) {
			set(tc, v1.ConditionStatusWritable, metav1.ConditionFalse, v1.ReasonFieldOwned)
		}, true},
		{"another kind", func(tc *v1.TemplateController) { tc.Spec.Watch.Kind = "Shop" }, false},
		{"another group", func(tc *v1.TemplateController) { tc.Spec.Watch.APIVersion = "example.com/v1" }, false},
		{"it is being deleted", func(tc *v1.TemplateController) { tc.DeletionTimestamp = &now }, false},
		{"rejected", func(tc *v1.TemplateController) {
			set(tc, v1.ConditionAccepted, metav1.ConditionFalse, v1.ReasonInvalidTemplate)
		}, false},
		{"accepted as it was before", func(tc *v1.TemplateController) { tc.Generation++ }, false},
		{"not looked at yet", func(tc *v1.TemplateController) { tc.Status.Conditions = nil }, false},
		{"parents cannot hold the condition", func(tc *v1.TemplateController) {
			set(tc, v1.ConditionStatusWritable, metav1.ConditionFalse, v1.ReasonNoConditions)
		}, false},
		{"the kind is not known", func(tc *v1.TemplateController) {
			set(tc, v1.ConditionStatusWritable, metav1.ConditionUnknown, v1.ReasonNotAccepted)
		}, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			tc := &v1.TemplateController{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u-1", Generation: 1, ResourceVersion: "1"}}
			tc.Spec.Watch = v1.Watch{APIVersion: "example.org/v1", Kind: "App"}
			tc.Status.Conditions = []metav1.Condition{
				{Type: v1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: v1.ReasonAccepted, ObservedGeneration: 1},
				{Type: v1.ConditionStatusWritable, Status: metav1.ConditionTrue, Reason: v1.ReasonStatusWritable, ObservedGeneration: 1},
			}
			row.change(tc)
			got := conditionWriters(cacheOf(t, tc), schema.GroupKind{Group: "example.org", Kind: "App"})
			if len(got) > 1 || (len(got) == 1) != row.want || row.want && got[0].Name != "a" {
				t.Errorf("returned %d TemplateControllers, want it: %v", len(got), row.want)
			}
		})
	}
}

// cacheOf returns a cache of TemplateControllers that holds one.
func cacheOf(t *testing.T, tc *v1.TemplateController) *watch.Cache {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(tc)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(content, map[string]any{"apiVersion": v1.Resource.GroupVersion().String(), "kind": "TemplateController"})
	o, err := object.From(content)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := watch.NewCache(templateControllers, func(watch.Event) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if err := cache.Replace([]any{o}, "1"); err != nil {
		t.Fatal(err)
	}
	return cache
}
