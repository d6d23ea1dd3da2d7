package lint

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
)

// TestErrorsDoNotHideOtherErrors has a spec in which one thing is wrong after the other, besides a field that is misspelled elsewhere.
func TestErrorsDoNotHideOtherErrors(t *testing.T) {
	const typed = "TL030 children[good]:1:10"
	for why, row := range map[string]struct {
		change func(*v1.TemplateControllerSpec)
		want   []string
	}{
		"nothing else":     {func(*v1.TemplateControllerSpec) {}, []string{typed}},
		"a duration":       {func(s *v1.TemplateControllerSpec) { s.ResyncPeriod = "1d" }, []string{typed, "TL021 spec.resyncPeriod:0:0"}},
		"an order":         {func(s *v1.TemplateControllerSpec) { s.Children[1].DependsOn = []string{"nobody"} }, []string{typed, "TL024 spec.children[bad].dependsOn:0:0"}},
		"another template": {func(s *v1.TemplateControllerSpec) { s.Children[1].Template = "{{ if }}" }, []string{"TL001 children[bad]:1:1", typed}},
		"an unknown name":  {func(s *v1.TemplateControllerSpec) { s.Children[1].Template = "{{ foo }}" }, []string{"TL003 children[bad]:1:4", typed}},
		"the status":       {func(s *v1.TemplateControllerSpec) { s.Status = &v1.ParentStatus{Template: "{{ end }}"} }, []string{typed, "TL001 status:1:1"}},
		"a readyWhen":      {func(s *v1.TemplateControllerSpec) { s.Children[1].ReadyWhen = "eq (" }, []string{"TL001 children[bad].readyWhen:1:1", typed}},
		"a select":         {func(s *v1.TemplateControllerSpec) { s.Related[0].Select = "{{ . " }, []string{typed, "TL001 related[maps].select:1:1"}},
		"the helpers":      {func(s *v1.TemplateControllerSpec) { s.Helpers = `{{ define "x" }}` }, []string{typed, "TL002 helpers:1:1"}},
		"helpers in use": {func(s *v1.TemplateControllerSpec) {
			s.Helpers, s.Children[1].Template = `{{ define "x" }}`, `{{ include "x" . }}`
		}, []string{typed, "TL002 helpers:1:1"}},
		"helpers in use, before one at fault": {func(s *v1.TemplateControllerSpec) {
			s.Helpers, s.Children[1].Template = `{{ define "x" }}a{{ end }}{{ define "y" }}`, `{{ include "x" . }}`
		}, []string{typed, "TL002 helpers:1:27"}},
		"values at fault": {func(s *v1.TemplateControllerSpec) { s.Values = &apiextensionsv1.JSON{Raw: []byte("[]")} }, []string{"TL023 spec.values:0:0"}},
		"same delimiters": {func(s *v1.TemplateControllerSpec) { s.Delimiters = v1.Delimiters{Left: "x", Right: "x"} }, []string{"TL014 spec.delimiters:0:0"}},
		"a value is unread": {func(s *v1.TemplateControllerSpec) {
			s.Values, s.Children[1].Template = &apiextensionsv1.JSON{Raw: []byte(`{"a": 1}`)}, "{{ if }}"
		}, []string{"TL001 children[bad]:1:1", typed}},
		"a value is unread, and all templates are known": {func(s *v1.TemplateControllerSpec) {
			s.Values, s.ResyncPeriod = &apiextensionsv1.JSON{Raw: []byte(`{"a": 1}`)}, "1d"
		}, []string{typed, "TL021 spec.resyncPeriod:0:0", "TL045 spec.values.a:0:0"}},
		"a helper is unused": {func(s *v1.TemplateControllerSpec) {
			s.Helpers, s.Children[1].Template = `{{ define "x" }}{{ end }}`, "{{ if }}"
		}, []string{"TL001 children[bad]:1:1", typed}},
	} {
		t.Run(why, func(t *testing.T) {
			tc := &v1.TemplateController{Spec: v1.TemplateControllerSpec{
				Watch:    v1.Watch{APIVersion: "apps/v1", Kind: "Deployment"},
				Related:  []v1.Related{{Name: "maps", APIVersion: "v1", Kind: "ConfigMap"}},
				Children: []v1.Child{{Name: "good", Template: "{{ .spec.replcas }}"}, {Name: "bad", Template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}"}},
			}}
			row.change(&tc.Spec)
			result := Check(tc, openapi.BuiltIn())
			var got []string
			for _, f := range result.Findings {
				got = append(got, fmt.Sprintf("%s %s:%d:%d", f.Code, f.Where, f.Line, f.Column))
			}
			if diff := cmp.Diff(row.want, got); diff != "" || result.Rejection == nil {
				t.Errorf("rejection %+v; findings (-want +got):\n%s", result.Rejection, diff)
			}
		})
	}
}
