package child

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/kube/object"
)

// packed decodes an object from YAML.
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

func TestInvalidObjectShapesAreReported(t *testing.T) {
	for document, want := range map[string]string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: a-1}}":                   "",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: 'system:x'}}":     "",
		"{apiVersion: a/b/c, kind: ConfigMap, metadata: {name: x}}":                                "apiVersion must be",
		"{apiVersion: a/, kind: ConfigMap, metadata: {name: x}}":                                   "apiVersion must be",
		"{apiVersion: /v1, kind: ConfigMap, metadata: {name: x}}":                                  "apiVersion must be",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: ''}}":                    "",
		"{apiVersion: v1, kind: ConfigMap}":                                                        "metadata.name is missing",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, status: {}}":                       "a template must not set status",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: y}}":                        "metadata.labels is not a mapping",
		"{kind: ConfigMap, metadata: {name: x}}":                                                   "the document has no apiVersion",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: a/services/s/proxy}}":    "metadata.namespace is not valid",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: ..}}":                    "metadata.namespace is not valid",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: 7}}":                     "metadata.namespace is not a string",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: ../x}}":                                "metadata.name is not valid",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, uid: u}}":                           "metadata.uid must not be set",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {templater.dev/child: x}}}": "metadata.labels has a key with the prefix templater.dev/",
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
