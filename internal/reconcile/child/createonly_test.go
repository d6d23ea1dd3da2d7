package child

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
)

// parsed returns YAML as JSON data.
func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	return memserver.Parse(t, "{apiVersion: v1, kind: X, it: "+text+"}").Object["it"].(map[string]any)
}

func TestCreateOnlyFieldsAreOmittedAndShown(t *testing.T) {
	const live = "{apiVersion: v1, kind: X, metadata: {name: a}, spec: {replicas: 7, empty: {a: b}}}"
	for why, row := range map[string]struct {
		content     string
		path        string
		want, shown string
		fault       string
	}{
		"a field":                     {content: "{spec: {replicas: 2, a: b}}", path: "spec.replicas", want: "{spec: {a: b}}", shown: "{spec: {a: b, replicas: 7}}"},
		"the only field":              {content: "{spec: {replicas: 2}, a: b}", path: "spec.replicas", want: "{a: b}", shown: "{a: b, spec: {replicas: 7}}"},
		"a mapping":                   {content: "{spec: {replicas: 2}, a: b}", path: "spec", want: "{a: b}", shown: "{a: b, spec: {replicas: 7, empty: {a: b}}}"},
		"not rendered":                {content: "{a: b}", path: "spec.replicas", want: "{a: b}", shown: "{a: b, spec: {replicas: 7}}"},
		"without a value":             {content: "{a: b, spec: }", path: "spec.replicas", want: "{a: b}", shown: "{a: b, spec: {replicas: 7}}"},
		"the mapping is empty":        {content: "{a: b, spec: {empty: {}}}", path: "spec.empty.x", want: "{a: b}", shown: "{a: b}"},
		"the object does not have it": {content: "{spec: {other: 2, a: b}}", path: "spec.other", want: "{spec: {a: b}}", shown: "{spec: {a: b}}"},
		"below a list":                {content: "{spec: {list: [a]}}", path: "spec.list.a", fault: "createOnlyFields has spec.list.a, but spec.list is not a mapping: list spec.list instead"},
		"below a text":                {content: "{spec: x}", path: "spec.list.a", fault: "createOnlyFields has spec.list.a, but spec is not a mapping: list spec instead"},
	} {
		t.Run(why, func(t *testing.T) {
			content := parsed(t, row.content)
			w := &Wanted{Entry: &v1.Child{CreateOnlyFields: []string{row.path}}, Content: content, Initial: content}
			if got := w.omitCreateOnly(); got != row.fault {
				t.Fatalf("fault %q, want %q", got, row.fault)
			}
			if row.fault != "" {
				return
			}
			if diff := cmp.Diff(parsed(t, row.want), w.Content); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(parsed(t, row.content), w.Initial); diff != "" {
				t.Errorf("the rendered content was modified:\n%s", diff)
			}
			if diff := cmp.Diff(parsed(t, row.shown), w.Shown(memserver.Pack(t, memserver.Parse(t, live)))); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(w.Initial, w.Shown(nil)); diff != "" {
				t.Errorf("shown for a new object (-want +got):\n%s", diff)
			}
		})
	}
}
