package spec

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/finding"
)

// worst returns a spec with every error that can occur at the same time.
func worst() *v1.TemplateControllerSpec {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b c"}}
	strategy := v1.UpdateStrategy{Type: v1.UpdateCreateOnly, RollingUpdate: &v1.RollingUpdate{}}
	return &v1.TemplateControllerSpec{
		ResyncPeriod: "1d", RevisionHistoryLimit: 1,
		Rollout: &v1.Rollout{Steps: stepsOf("2 1"), Interval: "1d", ReadyTimeout: "1d", MaxFailed: -1, ApprovedRevision: "x", CanarySelector: selector},
		Watch:   v1.Watch{APIVersion: "a/b/c", Kind: "App", LabelSelector: selector, NamespaceSelector: selector, FieldSelector: "a"},
		Values:  &apiextensionsv1.JSON{Raw: []byte(`{"a": [1e400]}`)},
		Related: []v1.Related{
			{Name: "x", APIVersion: "d/e/f", Kind: "Job", LabelSelector: selector, NamespaceSelector: selector, FieldSelector: "a", WatchFields: []string{"status", "a..b"}},
			{Name: "y", APIVersion: "d/e/f", Kind: "Job"},
		},
		Children: []v1.Child{
			{Name: "web", Template: "{{ foo }}", UpdateStrategy: strategy, DependsOn: []string{"web", "bd"}},
			{Name: "db", Template: "{{ quoet 1 }}", DependsOn: []string{"nobody"}},
		},
		Finalize: &v1.Finalize{Timeout: "1", Children: []v1.Child{{Name: "db", Template: "x", UpdateStrategy: strategy}}},
	}
}

// TestAllSpecErrorsAreReported expects all errors as findings, and the first one as the message of Accepted.
func TestAllSpecErrorsAreReported(t *testing.T) {
	c, r := Compile("tc", worst())
	if c != nil || r == nil || r.Reason != v1.ReasonInvalidSpec || r.Message != "spec.watch.apiVersion: must be group/version, or version for the core group" {
		t.Fatalf("got %+v, %+v", c, r)
	}
	var got []string
	for _, f := range r.Findings {
		if _, known := finding.Lookup(f.Code); !known || f.Severity != finding.Error || f.Message == "" {
			t.Errorf("got %+v", f)
		}
		got = append(got, fmt.Sprintf("%s %s", f.Code, f.Where))
	}
	want := []string{
		"TL020 spec.watch.apiVersion",
		"TL022 spec.watch.labelSelector.matchLabels", "TL022 spec.watch.namespaceSelector.matchLabels", "TL022 spec.watch.fieldSelector",
		"TL021 spec.resyncPeriod", "TL021 spec.finalize.timeout",
		"TL069 spec.revisionHistoryLimit", "TL022 spec.rollout.canarySelector.matchLabels", "TL069 spec.rollout.steps[1]", "TL021 spec.rollout.interval", "TL021 spec.rollout.readyTimeout", "TL069 spec.rollout.maxFailed", "TL069 spec.rollout.approvedRevision",
		"TL020 spec.related[x].apiVersion", "TL022 spec.related[x].labelSelector.matchLabels", "TL022 spec.related[x].namespaceSelector.matchLabels", "TL022 spec.related[x].fieldSelector", "TL028 spec.related[x].watchFields[1]",
		"TL020 spec.related[y].apiVersion",
		"TL016 spec.finalize.children[db]", "TL027 spec.children[web].updateStrategy", "TL027 spec.finalize.children[db].updateStrategy",
		"TL023 spec.values.a[0]", "TL003 children[web]", "TL003 children[db]",
		"TL024 spec.children[web].dependsOn", "TL024 spec.children[web].dependsOn", "TL024 spec.children[db].dependsOn",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestRelatedNamespacesAreLimited checks that namespaces are counted over all entries, because each needs a watch.
func TestRelatedNamespacesAreLimited(t *testing.T) {
	spec := specWith("{}", "x")
	for i, n := range []int{100, 0, 28} {
		r := v1.Related{Name: fmt.Sprint("r", i), APIVersion: "v1", Kind: "Pod"}
		for j := range n {
			r.Namespaces = append(r.Namespaces, fmt.Sprint("ns-", j))
		}
		spec.Related = append(spec.Related, r)
	}
	if _, r := Compile("tc", spec); r != nil {
		t.Errorf("128 namespaces are refused: %s", r.Message)
	}
	spec.Related[1].Namespaces = []string{"one-more"}
	const want = "spec.related: the namespaces of all entries list 129 names; the limit is 128: use namespaceSelector, or split the TemplateController"
	if _, r := Compile("tc", spec); r == nil || r.Reason != v1.ReasonInvalidSpec || r.Message != want || len(r.Findings) != 1 || r.Findings[0].Code != finding.RelatedNamespaces {
		t.Errorf("129 namespaces: %+v", r)
	}
}

// TestRejectedSpecKeepsSelectors checks that a rejected spec keeps what terminating parents need: their kind and valid selectors.
func TestRejectedSpecKeepsSelectors(t *testing.T) {
	spec := worst()
	spec.Watch.APIVersion = "apps/v1"
	c, r := Compile("tc", spec)
	if r == nil || c == nil || c.GVK.Kind != "App" || c.Program == nil || !c.Labels.Empty() || c.Related != nil || c.NamespaceSelector != nil || c.Fields != "" {
		t.Errorf("selectors that are at fault: got %+v, %+v", c, r)
	}
	spec = specWith("{}", "x")
	spec.Watch.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	spec.Children = append(spec.Children, v1.Child{Name: "b", Template: "x", DependsOn: []string{"a"}})
	spec.Finalize = &v1.Finalize{Children: []v1.Child{{Name: "c", Template: "x", DependsOn: []string{"nobody"}}}}
	c, r = Compile("tc", spec)
	if r == nil || c == nil || c.Labels.String() != "a=b" || c.Program == nil || c.Order != nil {
		t.Errorf("an order that is at fault: got %+v, %+v", c, r)
	}
}
