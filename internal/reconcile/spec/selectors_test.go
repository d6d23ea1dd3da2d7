package spec

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/render"
)

func TestInvalidSpecsAreRejected(t *testing.T) {
	odd := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}
	for want, change := range map[string]func(*v1.TemplateControllerSpec){
		"InvalidSpec: spec.watch.apiVersion":        func(s *v1.TemplateControllerSpec) { s.Watch.APIVersion = "a/b/c" },
		"InvalidSpec: spec.resyncPeriod: must":      func(s *v1.TemplateControllerSpec) { s.ResyncPeriod = "often" },
		"InvalidSpec: spec.resyncPeriod":            func(s *v1.TemplateControllerSpec) { s.ResyncPeriod = "-1s" },
		"InvalidSpec: spec.watch.labelSelector":     func(s *v1.TemplateControllerSpec) { s.Watch.LabelSelector = odd },
		"InvalidSpec: spec.watch.namespaceSelector": func(s *v1.TemplateControllerSpec) { s.Watch.NamespaceSelector = odd },
		"InvalidSpec: spec.watch.fieldSelector":     func(s *v1.TemplateControllerSpec) { s.Watch.FieldSelector = "a" },
		"InvalidTemplate: children[a]":              func(s *v1.TemplateControllerSpec) { s.Children[0].Template = "{{" },
	} {
		spec := specWith("{}", "x")
		change(spec)
		_, r := Compile("tc", spec)
		if r == nil || !strings.HasPrefix(r.Reason+": "+r.Message, want) {
			t.Errorf("got %+v, want %s", r, want)
		}
	}
}

func TestSelectorSizeIsLimited(t *testing.T) {
	for why, row := range map[string]struct {
		labels, values int
		want           string
	}{
		"as many as may be": {500, 499, ""},
		"one more":          {500, 500, "spec.watch.labelSelector: the selector has 1001 labels and values; the limit is 1000: select by a label that all these objects share"},
	} {
		t.Run(why, func(t *testing.T) {
			selector := &metav1.LabelSelector{MatchLabels: map[string]string{}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "b", Operator: "In", Values: make([]string, row.values)}}}
			for i := range row.labels {
				selector.MatchLabels[fmt.Sprint("a", i)] = ""
			}
			spec := specWith("{}", "x")
			spec.Watch.LabelSelector = selector
			c, r := Compile("tc", spec)
			got := ""
			if r != nil {
				got = r.Message
			}
			if got != row.want || c.Unread != (row.want != "") {
				t.Errorf("refused for %q, want %q", got, row.want)
			}
		})
	}
}

func TestCompileReadsSpecFields(t *testing.T) {
	spec, condition := specWith("{}", "x"), "Fit"
	spec.Status = &v1.ParentStatus{ReadyCondition: &condition}
	spec.ResyncPeriod = "90s"
	spec.Watch.FieldSelector = "metadata.name=a"
	spec.Watch.NamespaceSelector = &metav1.LabelSelector{}
	c, r := Compile("tc", spec)
	if r != nil {
		t.Fatal(r.Message)
	}
	if c.ReadyCondition != "Fit" || c.Resync != 90*time.Second || c.Fields != "metadata.name=a" || c.NamespaceSelector != nil || c.Labels.String() != "" {
		t.Errorf("got %+v", c)
	}
	spec.Watch.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	spec.Watch.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"c": "d"}}
	if c, r = Compile("tc", spec); r != nil || c.NamespaceSelector.String() != "a=b" || c.Labels.String() != "c=d" {
		t.Errorf("got %+v, rejection %+v", c, r)
	}
}

func TestIncompatibleKindsAreRejected(t *testing.T) {
	namespaced := kind.Kind{Kind: "App", Namespaced: true, Custom: true, Status: &kind.StatusSchema{}}
	everywhere, builtIn, statusless := namespaced, namespaced, namespaced
	everywhere.Namespaced, builtIn.Custom, statusless.Status = false, false, nil
	named := v1.Watch{Namespaces: []string{"a"}}
	chosen := v1.Watch{NamespaceSelector: &metav1.LabelSelector{}}
	writes := &v1.ParentStatus{Template: "a: 1"}
	for why, row := range map[string]struct {
		kind   kind.Kind
		watch  v1.Watch
		status *v1.ParentStatus
		want   string
	}{
		"a namespaced kind in some namespaces":         {namespaced, named, writes, ""},
		"a cluster-scoped kind":                        {everywhere, v1.Watch{}, writes, ""},
		"a cluster-scoped kind in some namespaces":     {everywhere, named, nil, v1.ReasonInvalidSpec},
		"a cluster-scoped kind in chosen namespaces":   {everywhere, chosen, nil, v1.ReasonInvalidSpec},
		"a built-in kind":                              {builtIn, v1.Watch{}, nil, ""},
		"a built-in kind with a status template":       {builtIn, v1.Watch{}, writes, v1.ReasonBuiltInKind},
		"a built-in kind with a ready condition alone": {builtIn, v1.Watch{}, &v1.ParentStatus{}, ""},
		"no status subresource":                        {statusless, v1.Watch{}, nil, ""},
		"no status subresource for a status template":  {statusless, v1.Watch{}, writes, v1.ReasonNoStatusSubresource},
	} {
		got := ""
		if r := CheckKind("tc", &v1.TemplateControllerSpec{Watch: row.watch, Status: row.status}, row.kind); r != nil {
			got = r.Reason
		}
		if got != row.want {
			t.Errorf("%s: got %q, want %q", why, got, row.want)
		}
	}
}

func TestCompileAppliesDefaults(t *testing.T) {
	spec := specWith("{}", "x")
	spec.Status = &v1.ParentStatus{Template: "a: 1"}
	c, r := Compile("tc", spec)
	if r != nil {
		t.Fatal(r.Message)
	}
	if c.ReadyCondition != v1.ConditionReady || c.Labels == nil || !c.Labels.Empty() {
		t.Errorf("got %+v, want the ready condition, and all parents", c)
	}
	if status, err := c.Program.Status(&render.Input{}); err != nil || status["a"] != int64(1) {
		t.Errorf("status %v, %v", status, err)
	}
}
