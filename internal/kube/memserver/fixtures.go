package memserver

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/kube/object"
)

// tester fails a test. A testing.TB implements it. The binary contains this package, and must not import testing.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Parse parses one YAML document for a test.
func Parse(t tester, text string) *unstructured.Unstructured {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	return u
}

// Pack converts an object to the operator's format.
func Pack(t tester, o *unstructured.Unstructured) *object.Object {
	t.Helper()
	p, err := object.From(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// With replaces the first occurrence of the first string of each pair in a manifest by the second one. It fails the test if there
// is none.
func With(t tester, manifest string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(manifest, pairs[i]) {
			t.Fatalf("the manifest lacks %q", pairs[i])
		}
		manifest = strings.Replace(manifest, pairs[i], pairs[i+1], 1)
	}
	return manifest
}
