package spec

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestSharesReadyCondition(t *testing.T) {
	other, none := "Other", ""
	front := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}
	back := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "back"}}
	in := func(selector *metav1.LabelSelector, namespaces ...string) func(*v1.TemplateControllerSpec) {
		return func(s *v1.TemplateControllerSpec) {
			s.Watch.Namespaces, s.Watch.NamespaceSelector = namespaces, selector
		}
	}
	confined := func(namespace string) func(*v1.TemplateControllerSpec) {
		return func(s *v1.TemplateControllerSpec) { Confine(namespace, s) }
	}
	watches := func(change func(*v1.TemplateControllerSpec)) *v1.TemplateControllerSpec {
		s := &v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "example.org/v1", Kind: "App"}}
		if change != nil {
			change(s)
		}
		return s
	}
	for _, row := range []struct {
		why  string
		a, b func(*v1.TemplateControllerSpec)
		want string
	}{
		{"the same parents", nil, nil, "Ready"},
		{"another version of the kind", nil, func(s *v1.TemplateControllerSpec) { s.Watch.APIVersion = "example.org/v2" }, "Ready"},
		{"one selects some", nil, func(s *v1.TemplateControllerSpec) { s.Watch.LabelSelector = front }, "Ready"},
		{"equal selectors", func(s *v1.TemplateControllerSpec) { s.Watch.LabelSelector = front }, func(s *v1.TemplateControllerSpec) { s.Watch.LabelSelector = front }, "Ready"},
		{"other selectors", func(s *v1.TemplateControllerSpec) { s.Watch.LabelSelector = front }, func(s *v1.TemplateControllerSpec) { s.Watch.LabelSelector = back }, ""},
		{"two of a namespace", confined("a"), confined("a"), "Ready"},
		{"two of other namespaces", confined("a"), confined("b"), ""},
		{"one of a namespace, and all", confined("a"), nil, "Ready"},
		{"one of a namespace that is listed", confined("a"), in(nil, "a", "b"), "Ready"},
		{"one of a namespace that is not listed", confined("a"), in(nil, "b", "c"), ""},
		{"one of a namespace that may be selected", confined("a"), in(front), ""},
		{"one of a namespace, and a selector of all", confined("a"), in(&metav1.LabelSelector{}), "Ready"},
		{"one of a namespace, and some parents of all", confined("a"), func(s *v1.TemplateControllerSpec) { s.Watch.LabelSelector = front }, "Ready"},
		{"lists with a common namespace", in(nil, "a", "b"), in(nil, "b", "c"), "Ready"},
		{"selected namespaces, and all", in(front), nil, "Ready"},
		{"the same selected namespaces, of which one lists some", in(front, "a"), in(front), "Ready"},
		{"the same selected namespaces of other lists", in(front, "a", "b"), in(front, "b", "c"), ""},
		{"other selected namespaces", in(front), in(back), ""},
		{"another group", nil, func(s *v1.TemplateControllerSpec) { s.Watch.APIVersion = "example.com/v1" }, ""},
		{"another condition", nil, func(s *v1.TemplateControllerSpec) { s.Status = &v1.ParentStatus{ReadyCondition: &other} }, ""},
		{
			"no condition", func(s *v1.TemplateControllerSpec) { s.Status = &v1.ParentStatus{ReadyCondition: &none} },
			func(s *v1.TemplateControllerSpec) { s.Status = &v1.ParentStatus{ReadyCondition: &none} }, "",
		},
		{"a built-in kind", func(s *v1.TemplateControllerSpec) { s.Watch.APIVersion, s.Watch.Kind = "v1", "Namespace" }, func(s *v1.TemplateControllerSpec) { s.Watch.APIVersion, s.Watch.Kind = "v1", "Namespace" }, ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			a, b := watches(row.a), watches(row.b)
			if x, y := SharesReadyCondition(a, b), SharesReadyCondition(b, a); x != row.want || y != row.want {
				t.Errorf("%q and %q, want %q", x, y, row.want)
			}
		})
	}
}
