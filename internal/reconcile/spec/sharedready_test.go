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
