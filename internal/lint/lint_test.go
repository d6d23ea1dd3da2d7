package lint

import (
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render/finding"
)

// TestOperatorRejectsExactlyErrors holds that the operator refuses what has an error, and nothing else, whatever is known of kinds.
func TestOperatorRejectsExactlyErrors(t *testing.T) {
	for why, row := range map[string]struct {
		template string
		untyped  bool // whether it is refused where nothing is known of kinds
		typed    bool // and where the kinds of Kubernetes are
		message  string
	}{
		"valid":                           {"a: {{ .metadata.name }}", false, false, ""},
		"syntax error":                    {"{{ if }}", true, true, "children[a]:1:1: missing value for if"},
		"several mistakes":                {"{{ foo }}{{ bar }}{{ baz }}{{ qux }}", true, true, "children[a]:1:4: unknown function foo; children[a]:1:13: unknown function bar; children[a]:1:22: unknown function baz; and 1 more"},
		"a field that is not there":       {"a: {{ .spec.replcas }}", false, true, "children[a]:1:13: Deployment has no field .spec.replcas; did you mean replicas?"},
		"an unknown field with a default": {"a: {{ .spec.replcas | default 1 }}", false, false, ""},
	} {
		tc := &v1.TemplateController{Spec: v1.TemplateControllerSpec{
			Watch: v1.Watch{APIVersion: "apps/v1", Kind: "Deployment"}, Children: []v1.Child{{Name: "a", Template: row.template}},
		}}
		for _, known := range []openapi.Set{nil, openapi.BuiltIn()} {
			want := row.untyped
			if known != nil {
				want = row.typed
			}
			got := Check(tc, known)
			errors := finding.Of(finding.Error, got.Findings)
			if (got.Rejection != nil) != want || (len(errors) > 0) != want || got.Compiled == nil {
				t.Errorf("%s: rejection %+v, findings %v", why, got.Rejection, got.Findings)
			}
			if got.Rejection != nil && (got.Rejection.Reason != v1.ReasonInvalidTemplate || got.Rejection.Message != row.message) {
				t.Errorf("%s: %+v", why, got.Rejection)
			}
			for _, f := range got.Findings {
				if rule, ok := finding.Lookup(f.Code); !ok || rule.Why == "" {
					t.Errorf("%s: no rule for %s", why, f.Code)
				}
			}
		}
	}
}

// TestIgnoredFieldsCauseWarnings in an accepted TemplateController.
func TestIgnoredFieldsCauseWarnings(t *testing.T) {
	tc := &v1.TemplateController{Spec: v1.TemplateControllerSpec{
		Watch: v1.Watch{APIVersion: "apps/v1", Kind: "Deployment"}, Children: []v1.Child{{Name: "a", Template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"}},
		Finalize: &v1.Finalize{Order: v1.FinalizeReverse, OnTimeout: "Continue"},
	}}
	got := Check(tc, nil)
	if got.Rejection != nil || len(got.Findings) != 1 || got.Findings[0].Code != finding.RemovedField || got.Findings[0].Severity != finding.Warning {
		t.Errorf("rejection %+v, findings %v", got.Rejection, got.Findings)
	}
}
