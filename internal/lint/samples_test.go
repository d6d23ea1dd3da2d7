package lint

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
)

// TestSamplesAreValidWithoutSchemas checks what the operator does before it has read a schema.
func TestSamplesAreValidWithoutSchemas(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/*/templatecontroller.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d samples and error %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tc := &v1.TemplateController{}
		if err := yaml.UnmarshalStrict(text, tc); err != nil {
			t.Fatal(err)
		}
		if r := Check(tc, nil); r.Rejection != nil {
			t.Errorf("%s: %s", file, r.Rejection.Message)
		}
	}
}
