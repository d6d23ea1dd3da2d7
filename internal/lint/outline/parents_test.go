package outline_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/finding"
)

func TestChildrenMatchingOwnWatch(t *testing.T) {
	const (
		head    = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n"
		plain   = head + "  name: {{ .metadata.name }}-copy\n"
		labeled = plain + "  labels:\n    app: web\n"
		message = "warning TL057 children[x]:2:7+9 this ConfigMap is also a parent of the TemplateController, so it gets children of its own: set watch.labelSelector to a label that the child does not have"
	)
	all := v1.Watch{APIVersion: "v1", Kind: "ConfigMap"}
	with := func(change func(*v1.Watch)) v1.Watch { w := all; change(&w); return w }
	matching := func(match map[string]string, more ...metav1.LabelSelectorRequirement) v1.Watch {
		return with(func(w *v1.Watch) { w.LabelSelector = &metav1.LabelSelector{MatchLabels: match, MatchExpressions: more} })
	}
	in := func(names ...string) v1.Watch { return with(func(w *v1.Watch) { w.Namespaces = names }) }
	for why, row := range map[string]struct {
		watch v1.Watch
		text  string
		found bool
	}{
		"no selector":                                {all, plain, true},
		"another kind":                               {v1.Watch{APIVersion: "v1", Kind: "Secret"}, plain, false},
		"another group":                              {v1.Watch{APIVersion: "example.org/v1", Kind: "ConfigMap"}, plain, false},
		"another version of the kind":                {v1.Watch{APIVersion: "v2", Kind: "ConfigMap"}, plain, true},
		"in a branch, which may end the chain":       {all, "{{ if .parent.data.copy }}\n" + plain + "{{ end }}\n", false},
		"in a loop, which may be empty":              {all, "{{ range .parent.data.copies }}\n---\n" + plain + "{{ end }}\n", false},
		"a template that waits":                      {all, "{{ if .parent.data.later }}{{ wait \"later\" }}{{ end }}\n" + plain, false},
		"an empty selector":                          {matching(nil), plain, true},
		"a label that the child lacks":               {matching(map[string]string{"app": "web"}), plain, false},
		"a label that the child has":                 {matching(map[string]string{"app": "web"}), labeled, true},
		"a label with another value":                 {matching(map[string]string{"app": "db"}), labeled, false},
		"one label of two":                           {matching(map[string]string{"app": "web", "tier": "1"}), labeled, false},
		"a label that must be absent and is":         {matching(nil, metav1.LabelSelectorRequirement{Key: "copy", Operator: metav1.LabelSelectorOpDoesNotExist}), plain, true},
		"a label that must be absent and is not":     {matching(nil, metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpDoesNotExist}), labeled, false},
		"a label whose value is printed":             {matching(map[string]string{"app": "web"}), plain + "  labels: {app: {{ .metadata.name }}}\n", false},
		"labels that are printed":                    {matching(map[string]string{"app": "web"}), plain + "  labels: {{ toJson .metadata.labels }}\n", false},
		"labels that may be printed":                 {matching(nil, metav1.LabelSelectorRequirement{Key: "copy", Operator: metav1.LabelSelectorOpDoesNotExist}), labeled + "    {{ toYaml .metadata.labels | nindent 4 }}\n", false},
		"labels that may be printed beside the one":  {matching(map[string]string{"app": "web"}), labeled + "    {{ toYaml .metadata.labels | nindent 4 }}\n", true},
		"data that are printed":                      {matching(map[string]string{"app": "web"}), labeled + "data:\n  {{ toYaml .parent.data | nindent 2 }}\n", true},
		"a label in a branch":                        {matching(map[string]string{"app": "web"}), plain + "  labels:\n    {{ if .parent.data.web }}\n    app: web\n    {{ end }}\n", false},
		"labels that templater sets":                 {matching(nil, metav1.LabelSelectorRequirement{Key: v1.LabelController, Operator: metav1.LabelSelectorOpDoesNotExist}), plain, false},
		"the common label, which templater adds":     {matching(nil, metav1.LabelSelectorRequirement{Key: v1.LabelManagedBy, Operator: metav1.LabelSelectorOpDoesNotExist}), plain, false},
		"the common label that templater adds":       {matching(map[string]string{v1.LabelManagedBy: v1.ManagedBy}), plain, true},
		"a namespace of parents":                     {in("a"), plain, true},
		"the namespace of the parent, written out":   {in("a"), plain + "  namespace: {{ .metadata.namespace }}\n", true},
		"a namespace that is watched":                {in("a", "b"), plain + "  namespace: b\n", true},
		"a namespace that is not watched":            {in("a"), plain + "  namespace: b\n", false},
		"a namespace that is printed":                {in("a"), plain + "  namespace: {{ .parent.data.namespace }}\n", false},
		"a namespace where all are watched":          {all, plain + "  namespace: b\n", true},
		"a namespace that a selector may not choose": {with(func(w *v1.Watch) { w.NamespaceSelector = &metav1.LabelSelector{} }), plain + "  namespace: b\n", false},
		"the parent's own, chosen by a selector":     {with(func(w *v1.Watch) { w.NamespaceSelector = &metav1.LabelSelector{} }), plain, true},
		"a field selector":                           {with(func(w *v1.Watch) { w.FieldSelector = "metadata.name=main" }), plain, false},
	} {
		t.Run(why, func(t *testing.T) {
			var want []string
			if row.found {
				want = []string{message}
			}
			s := &v1.TemplateControllerSpec{Watch: row.watch, Children: []v1.Child{{Name: "x", Template: row.text, Scope: v1.ScopeCluster}}}
			if got := onlyOf(t, finding.ChildIsParent, s, nil); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
