package revision

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

func aSpec(edits ...func(*v1.TemplateControllerSpec)) *v1.TemplateControllerSpec {
	out := &v1.TemplateControllerSpec{
		Watch:    v1.Watch{APIVersion: "example.org/v1", Kind: "App"},
		Children: []v1.Child{{Name: "web", Template: "a"}},
		Related:  []v1.Related{{Name: "all", APIVersion: "v1", Kind: "Pod"}, {Name: "some", APIVersion: "v1", Kind: "Pod", Select: "x"}},
		Values:   &apiextensionsv1.JSON{Raw: []byte(`{"b": 1, "a": 1.50}`)},
	}
	for _, edit := range edits {
		edit(out)
	}
	return out
}

func TestIDChangesWithTemplatesOnly(t *testing.T) {
	for _, row := range []struct {
		why  string
		edit func(*v1.TemplateControllerSpec)
		same bool
	}{
		{"nothing differs", func(*v1.TemplateControllerSpec) {}, true},
		{"all defaults are set, as the API server does", spec.Default, true},
		{"the text of the values has other spaces and another order", func(s *v1.TemplateControllerSpec) { s.Values.Raw = []byte(`{"a":1.50,"b":1}`) }, true},
		{"watch selects other parents", func(s *v1.TemplateControllerSpec) { s.Watch.Filter = "true" }, true},
		{"another service account", func(s *v1.TemplateControllerSpec) { s.ServiceAccountRef = &v1.ServiceAccountRef{Name: "a"} }, true},
		{"suspended", func(s *v1.TemplateControllerSpec) { s.Suspend = true }, true},
		{"another resync period", func(s *v1.TemplateControllerSpec) { s.ResyncPeriod = "1h" }, true},
		{"other steps", func(s *v1.TemplateControllerSpec) { s.Rollout = &v1.Rollout{Paused: true} }, true},
		{"another related kind", func(s *v1.TemplateControllerSpec) { s.Related[0].Kind = "Node" }, true},
		{"a template differs", func(s *v1.TemplateControllerSpec) { s.Children[0].Template = "b" }, false},
		{"a policy differs", func(s *v1.TemplateControllerSpec) { s.Children[0].PrunePolicy = v1.PruneOrphan }, false},
		{"a value differs", func(s *v1.TemplateControllerSpec) { s.Values.Raw = []byte(`{"b": 2, "a": 1.50}`) }, false},
		{"a helper is added", func(s *v1.TemplateControllerSpec) { s.Helpers = "{{ define \"a\" }}{{ end }}" }, false},
		{"other delimiters", func(s *v1.TemplateControllerSpec) { s.Delimiters.Left = "[[" }, false},
		{"a status template is added", func(s *v1.TemplateControllerSpec) { s.Status = &v1.ParentStatus{Template: "a: b"} }, false},
		{"no ready condition", func(s *v1.TemplateControllerSpec) { s.Status = &v1.ParentStatus{ReadyCondition: new(string)} }, false},
		{"a cleanup is added", func(s *v1.TemplateControllerSpec) { s.Finalize = &v1.Finalize{} }, false},
		{"a select template differs", func(s *v1.TemplateControllerSpec) { s.Related[1].Select = "y" }, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			before, after := IDOf(aSpec()), IDOf(aSpec(row.edit))
			if len(before) != 16 || (before == after) != row.same {
				t.Errorf("the IDs are %s and %s, want equal IDs: %t", before, after, row.same)
			}
		})
	}
}

func TestMergeTakesTemplatesFromRevision(t *testing.T) {
	one := intstr.FromInt32(1)
	old := aSpec(func(s *v1.TemplateControllerSpec) {
		s.Children[0].UpdateStrategy.RollingUpdate = &v1.RollingUpdate{MaxUnavailable: &one}
		s.Related[1].Select, s.Helpers = "old", "old"
	})
	live := aSpec(func(s *v1.TemplateControllerSpec) {
		s.Children, s.Suspend, s.ResyncPeriod = []v1.Child{{Name: "new", Template: "new"}}, true, "1h"
		s.Related[0].Select, s.Related[1].Kind = "new", "Node"
	})
	text, err := Encode(Of(old))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "axUnavailable") {
		t.Errorf("a revision contains a default: %s", text)
	}
	data, err := Compress(text)
	if err != nil {
		t.Fatal(err)
	}
	stored, id, err := Decode(data)
	if err != nil || id != IDOf(old) {
		t.Fatalf("ID %q, want %q; error %v", id, IDOf(old), err)
	}
	want := old.DeepCopy()
	want.Suspend, want.ResyncPeriod, want.Related[1].Kind = true, "1h", "Node"
	want.Values.Raw = []byte(`{"a":1.50,"b":1}`)
	spec.Default(want)
	if diff := cmp.Diff(want, Merge(live, stored)); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
}

func TestInvalidDataIsNoRevision(t *testing.T) {
	large, err := Compress([]byte(`{"helpers":"` + strings.Repeat("a", most) + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := Compress([]byte("no JSON"))
	for why, data := range map[string][]byte{"empty": nil, "not compressed": []byte("{}"), "cut": large[:len(large)/2], "too large": large, "no JSON": text} {
		t.Run(why, func(t *testing.T) {
			if _, _, err := Decode(data); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestRevisionOfInvalidValuesHasNoID(t *testing.T) {
	if id := IDOf(aSpec(func(s *v1.TemplateControllerSpec) { s.Values.Raw = []byte("{") })); id != "" {
		t.Errorf("the ID is %q", id)
	}
}
