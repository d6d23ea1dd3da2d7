package typed

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// TestSelectedLabelsArePresent warns of no label without which an object would be no parent, or not be watched.
func TestSelectedLabelsArePresent(t *testing.T) {
	in := func(operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "example.org/tier", Operator: operator, Values: values}}}
	}
	const (
		ofParent  = `phase: {{ index .metadata.labels "example.org/tier" }}`
		ofRelated = `phase: {{ range .related.maps }}{{ index .metadata.labels "example.org/tier" }}{{ end }}`
	)
	for why, row := range map[string]struct {
		watch, related *metav1.LabelSelector
		status         string
		want           int // findings
	}{
		"no selector":            {status: ofParent, want: 1},
		"a value":                {watch: &metav1.LabelSelector{MatchLabels: map[string]string{"example.org/tier": "a"}}, status: ofParent},
		"any value":              {watch: in(metav1.LabelSelectorOpExists), status: ofParent},
		"one of several values":  {watch: in(metav1.LabelSelectorOpIn, "a", "b"), status: ofParent},
		"optional label":         {watch: in(metav1.LabelSelectorOpNotIn, "a"), status: ofParent, want: 1},
		"missing label":          {watch: in(metav1.LabelSelectorOpDoesNotExist), status: ofParent, want: 1},
		"another label":          {watch: in(metav1.LabelSelectorOpExists), status: `phase: {{ .metadata.labels.app }}`, want: 1},
		"of the whole parent":    {watch: in(metav1.LabelSelectorOpExists), status: `phase: {{ index .parent.metadata.labels "example.org/tier" }}`},
		"of a related object":    {related: in(metav1.LabelSelectorOpExists), status: ofRelated},
		"of parents only":        {watch: in(metav1.LabelSelectorOpExists), status: ofRelated}, // it is left out while it is missing
		"of related objects too": {related: in(metav1.LabelSelectorOpExists), status: ofParent, want: 1},
	} {
		s := &v1.TemplateControllerSpec{
			Watch:   v1.Watch{APIVersion: "example.org/v1", Kind: "Shop", LabelSelector: row.watch},
			Related: []v1.Related{{Name: "maps", APIVersion: "v1", Kind: "ConfigMap", LabelSelector: row.related}},
			Status:  &v1.ParentStatus{Template: row.status},
		}
		compiled, rejection := spec.Compile("x", s)
		if rejection != nil {
			t.Fatalf("%s: %s", why, rejection.Message)
		}
		var got []string
		for _, f := range Check(nil, &v1.TemplateController{Spec: *s}, compiled.Program, known(t)) {
			got = append(got, f.Message)
		}
		if len(got) != row.want {
			t.Errorf("%s: %s", why, cmp.Diff(row.want, got))
		}
	}
}
