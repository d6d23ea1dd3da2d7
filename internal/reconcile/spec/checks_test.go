package spec

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

func TestServiceAccountIsRequired(t *testing.T) {
	if r := CheckAccount(&v1.TemplateControllerSpec{ServiceAccountRef: &v1.ServiceAccountRef{}}); r != nil {
		t.Errorf("with an account: %s", r.Message)
	}
	const text = "required by --require-service-account: name a ServiceAccount with permissions for the parents and their children"
	r := CheckAccount(&v1.TemplateControllerSpec{})
	if r == nil || r.Reason != v1.ReasonServiceAccountRequired || r.Message != "spec.serviceAccountRef is "+text {
		t.Fatalf("without an account: %+v", r)
	}
	want := finding.Finding{Code: finding.ServiceAccount, Severity: finding.Error, Where: "spec.serviceAccountRef", Message: text}
	if len(r.Findings) != 1 || r.Findings[0] != want {
		t.Errorf("findings %+v", r.Findings)
	}
}

// Children cannot wait for objects that are only created when the parent is being deleted.
func TestChildrenMustNotReadFinalizeChildren(t *testing.T) {
	s := specWith("{}", "a: {{ len .children.backup }}")
	s.Finalize = &v1.Finalize{Children: []v1.Child{{Name: "backup", Template: "a: {{ len .children.backup2 }}"}, {Name: "backup2", Template: "a: b"}}}
	_, r := Compile("tc", s)
	const want = "spec.children[a]: the template reads .children.backup, whose objects are only created when the parent is deleted: read it in the status template or in spec.finalize.children"
	if r == nil || len(r.Findings) != 1 || r.Findings[0].Code != finding.ReadsFinal || r.Message != want {
		t.Errorf("got %+v", r)
	}
}

func TestRelatedClusterScopedKindsRejectNamespaces(t *testing.T) {
	for why, row := range map[string]struct {
		entry v1.Related
		fits  bool
	}{
		"all":               {v1.Related{}, true},
		"in some":           {v1.Related{Namespaces: []string{"a"}}, false},
		"by labels of some": {v1.Related{NamespaceSelector: &metav1.LabelSelector{}}, false},
	} {
		r := &Related{Related: &row.entry}
		if got := r.CheckKind("tc", kind.Kind{Kind: "Node"}) == nil; got != row.fits {
			t.Errorf("%s: fits %v, want %v", why, got, row.fits)
		}
		if fault := r.CheckKind("tc", kind.Kind{Kind: "Pod", Namespaced: true}); fault != nil {
			t.Errorf("%s, of a kind with namespaces: %s", why, fault.Message)
		}
	}
}

// A namespaceSelector that selects everything is dropped: Namespaces need not be watched.
func TestNamespacesOfRelatedObjects(t *testing.T) {
	for why, row := range map[string]struct {
		selector *metav1.LabelSelector
		selects  bool
	}{
		"none":  {nil, false},
		"all":   {&metav1.LabelSelector{}, false},
		"some":  {&metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, true},
		"wrong": {&metav1.LabelSelector{MatchLabels: map[string]string{"a": "no value"}}, false},
	} {
		r, fault := relatedOf(&v1.Related{Name: "r", APIVersion: "v1", Kind: "Pod", NamespaceSelector: row.selector, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"c": "d"}}})
		if r.GVK.Kind != "Pod" || r.GVK.Version != "v1" || r.Labels != "c=d" {
			t.Errorf("%s: %s with labels %q", why, r.GVK, r.Labels)
		}
		if (r.NamespaceSelector != nil) != row.selects || (fault != nil) != (why == "wrong") {
			t.Errorf("%s: selects %v, fault %v", why, r.NamespaceSelector, fault)
		}
	}
}

// If the logs of related Pods are read, changes of container states trigger a reconciliation even with watchFields.
func TestPodLogsExtendWatchFields(t *testing.T) {
	fields, logs := []string{"status.phase"}, &v1.PodLogs{}
	for why, row := range map[string]struct {
		entry v1.Related
		want  int
	}{
		"everything":                {v1.Related{}, 0},
		"everything, and logs":      {v1.Related{Logs: logs}, 0},
		"some fields":               {v1.Related{WatchFields: fields}, 1},
		"some fields, and the logs": {v1.Related{WatchFields: fields, Logs: logs}, 4},
	} {
		r := &Related{}
		if fault := r.watch("spec.related[a]", &row.entry); fault != nil || len(r.Watched) != row.want {
			t.Errorf("%s: watches %v, fault %v", why, r.Watched, fault)
		}
	}
}

func TestHoldsConditionRequiresStatusConditions(t *testing.T) {
	for why, row := range map[string]struct {
		condition string
		status    *kind.StatusSchema
		want      bool
	}{
		"its schema has room":    {"Ready", &kind.StatusSchema{}, true},
		"nobody wants one":       {"", &kind.StatusSchema{}, false},
		"there is no status":     {"Ready", nil, false},
		"there is no room in it": {"Ready", &kind.StatusSchema{Conditions: "it is a set"}, false},
	} {
		if got := HoldsCondition(row.condition, kind.Kind{Status: row.status}); got != row.want {
			t.Errorf("%s: %v, want %v", why, got, row.want)
		}
		if got := WritesStatus(&v1.TemplateControllerSpec{}, row.condition, kind.Kind{Status: row.status}); got != row.want {
			t.Errorf("%s: writes a status %v, want %v", why, got, row.want)
		}
		if WritesStatus(&v1.TemplateControllerSpec{Status: &v1.ParentStatus{}}, "", kind.Kind{Status: row.status}) {
			t.Errorf("%s: a status is written of which nothing is said", why)
		}
		templated := &v1.TemplateControllerSpec{Status: &v1.ParentStatus{Template: "a: b"}}
		if got := WritesStatus(templated, row.condition, kind.Kind{Status: row.status}); got != (row.status != nil) {
			t.Errorf("%s, with a template: writes a status %v", why, got)
		}
	}
}

// Partial does not contain templates with findings, including those that are found during compilation.
func TestInvalidTemplatesAreLeftOut(t *testing.T) {
	build := func() *v1.TemplateControllerSpec {
		s := specWith("{}", "apiVersion: v1\nkind: ConfigMap\n")
		s.Children = append(s.Children, v1.Child{Name: "b", Template: "apiVersion: v1\nkind: Secret\n", ReadyWhen: "true"})
		s.Related = []v1.Related{{Name: "r", APIVersion: "v1", Kind: "Pod", Select: "name: a"}}
		s.Status = &v1.ParentStatus{Template: "a: 1"}
		return s
	}
	for why, row := range map[string]struct {
		change func(*v1.TemplateControllerSpec)
		where  []string
		whole  bool
		left   []string // child templates whose kinds are known
	}{
		"nothing":                          {func(*v1.TemplateControllerSpec) {}, nil, true, []string{"a", "b"}},
		"a template":                       {func(*v1.TemplateControllerSpec) {}, []string{"children[a]"}, false, []string{"b"}},
		"a template, and a field":          {func(*v1.TemplateControllerSpec) {}, []string{"children[a]", "spec.resyncPeriod"}, false, []string{"b"}},
		"the status":                       {func(*v1.TemplateControllerSpec) {}, []string{"status"}, false, []string{"a", "b"}},
		"an expression":                    {func(*v1.TemplateControllerSpec) {}, []string{"children[b].readyWhen"}, false, []string{"a", "b"}},
		"a field that is no template":      {func(*v1.TemplateControllerSpec) {}, []string{"spec.resyncPeriod"}, true, []string{"a", "b"}},
		"a template that is not there":     {func(*v1.TemplateControllerSpec) {}, []string{"helpers"}, true, []string{"a", "b"}},
		"a template that does not compile": {func(s *v1.TemplateControllerSpec) { s.Children[1].Template = "{{ nothing }}" }, nil, false, []string{"a"}},
	} {
		s := build()
		row.change(s)
		var found []finding.Finding
		for _, where := range row.where {
			found = append(found, finding.Finding{Where: where})
		}
		c := &Compiled{}
		sound, _ := c.compile(nil, "tc", s)
		partial := partialOf(sound, c.Program != nil, &Rejection{Findings: found})
		if partial.Program == nil || partial.Whole != row.whole {
			t.Errorf("%s: whole %v, want %v", why, partial.Whole, row.whole)
			continue
		}
		var left []string
		for _, name := range []string{"a", "b"} {
			if slices.ContainsFunc(partial.Program.Templates().Children, func(u *syntax.Unit) bool { return u.Text.Name == syntax.ChildName(name) && u.Text.Content != "" }) {
				left = append(left, name)
			}
		}
		if !slices.Equal(left, row.left) {
			t.Errorf("%s: %v is left, want %v", why, left, row.left)
		}
	}
	if _, _, partial := CompileWith(nil, "tc", specWith("[", "x")); partial.Program != nil || partial.Whole {
		t.Error("something is left without values")
	}
}
