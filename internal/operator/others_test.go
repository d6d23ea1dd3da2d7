package operator

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

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
			tc := accepted("a")
			row.change(tc)
			got := slices.Collect(conditionWriters(schema.GroupKind{Group: "example.org", Kind: "App"}, eachOf(t, tc)))
			if len(got) > 1 || (len(got) == 1) != row.want || row.want && got[0].Name != "a" {
				t.Errorf("returned %d TemplateControllers, want it: %v", len(got), row.want)
			}
		})
	}
}

// TestConditionWriterDecodesOnlyComparedFields: large fields are omitted.
func TestConditionWriterDecodesOnlyComparedFields(t *testing.T) {
	for why, condition := range map[string]*string{"the default": nil, "none": ptr.To(""), "another one": ptr.To("Other")} {
		t.Run(why, func(t *testing.T) {
			tc := accepted("a")
			tc.Spec.Watch.Namespaces = []string{"ns"}
			tc.Spec.Watch.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
			tc.Spec.Children = []v1.Child{{Name: "a", Template: "a"}}
			tc.Spec.Status = &v1.ParentStatus{ReadyCondition: condition, Template: "a: b"}
			got := conditionWriter(packed(t, tc))
			want := &v1.TemplateController{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1.TemplateControllerSpec{Watch: tc.Spec.Watch}}
			if condition != nil {
				want.Spec.Status = &v1.ParentStatus{ReadyCondition: condition}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// accepted returns a TemplateController that writes a ready condition.
func accepted(name string) *v1.TemplateController {
	tc := &v1.TemplateController{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 1, ResourceVersion: "1"}}
	tc.Spec.Watch = v1.Watch{APIVersion: "example.org/v1", Kind: "App"}
	tc.Status.Conditions = []metav1.Condition{
		{Type: v1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: v1.ReasonAccepted, ObservedGeneration: 1},
		{Type: v1.ConditionStatusWritable, Status: metav1.ConditionTrue, Reason: v1.ReasonStatusWritable, ObservedGeneration: 1},
	}
	return tc
}

func packed(t *testing.T, tc *v1.TemplateController) *object.Object {
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
	return o
}

// eachOf returns Each of a store with these TemplateControllers.
func eachOf(t *testing.T, all ...*v1.TemplateController) func(func(*object.Object)) {
	t.Helper()
	objects := make([]any, len(all))
	for i, tc := range all {
		objects[i] = packed(t, tc)
	}
	cache, err := watch.NewCache(templateControllers, func(watch.Event) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if err := cache.Replace(objects, "1"); err != nil {
		t.Fatal(err)
	}
	return func(f func(*object.Object)) {
		cache.Each(func(o *object.Object) bool {
			f(o)
			return true
		})
	}
}
