package child

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/object"
)

// packed is the object that YAML describes.
func packed(t *testing.T, text string) *object.Object {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	o, err := object.From(content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestShapeFaults(t *testing.T) {
	for document, want := range map[string]string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: a-1}}":                   "",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: 'system:x'}}":     "",
		"{apiVersion: a/b/c, kind: ConfigMap, metadata: {name: x}}":                                "apiVersion is neither",
		"{apiVersion: a/, kind: ConfigMap, metadata: {name: x}}":                                   "apiVersion is neither",
		"{apiVersion: /v1, kind: ConfigMap, metadata: {name: x}}":                                  "apiVersion is neither",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: ''}}":                    "",
		"{apiVersion: v1, kind: ConfigMap}":                                                        "the document has no metadata.name",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, status: {}}":                       "status is not for a template",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: y}}":                        "metadata.labels is no mapping",
		"{kind: ConfigMap, metadata: {name: x}}":                                                   "the document has no apiVersion",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: a/services/s/proxy}}":    "metadata.namespace is no valid name",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: ..}}":                    "metadata.namespace is no valid name",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: 7}}":                     "metadata.namespace is no text",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: ../x}}":                                "metadata.name is no valid name",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, uid: u}}":                           "metadata.uid may not be set",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {templater.dev/child: x}}}": "metadata.labels holds a key of templater.dev/",
	} {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(document), &content); err != nil {
			t.Fatal(err)
		}
		got := shapeFault(content)
		if (want == "") != (got == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", document, got, want)
		}
	}
}

func TestNamespacesOfChildren(t *testing.T) {
	const away = "the child must be in its parent's namespace, because owner references do not cross namespaces: remove metadata.namespace"
	for why, row := range map[string]struct {
		parent, child bool // whether the kind has namespaces
		namespace     string
		want, fault   string
	}{
		"the parent's":                               {true, true, "", "ns", ""},
		"the parent's, as it says":                   {true, true, "ns", "ns", ""},
		"another one":                                {true, true, "other", "other", away},
		"one of a parent without":                    {false, true, "other", "other", ""},
		"none, of a parent without":                  {false, true, "", "", "a Child is namespaced and its parent is not: set metadata.namespace"},
		"none, of two kinds without":                 {false, false, "", "", ""},
		"one, of two kinds without":                  {false, false, "other", "other", "a Child is cluster-scoped: remove metadata.namespace"},
		"a kind without, of a parent in a namespace": {true, false, "", "", "a Child is cluster-scoped and cannot belong to the namespaced Parent: owner references do not cross that line; watch a cluster-scoped kind instead"},
	} {
		metadata := map[string]any{"name": "a"}
		if row.namespace != "" {
			metadata["namespace"] = row.namespace
		}
		content := map[string]any{"metadata": metadata}
		f := &Factory{ParentKind: kind.Kind{Kind: "Parent", Namespaced: row.parent}}
		fault := f.place(content, kind.Kind{Kind: "Child", Namespaced: row.child}, packed(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: ns}}"))
		if got := nameOf(content).Namespace; fault != row.fault || got != row.want {
			t.Errorf("%s: namespace %q and fault %q, want %q and %q", why, got, fault, row.want, row.fault)
		}
	}
}
