package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const root = "../.."

func TestControllers(t *testing.T) {
	all, err := Controllers(root)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, crd := range all {
		names = append(names, crd.GetName())
	}
	if want := []string{"templatecontrollers.templater.dev", "namespacedtemplatecontrollers.templater.dev", "templaterevisions.templater.dev"}; !slices.Equal(names, want) {
		t.Errorf("got the CRDs %v, want %v", names, want)
	}
}

func TestOperatorRole(t *testing.T) {
	before, err := OperatorRole(root, "mine")
	if err != nil {
		t.Fatal(err)
	}
	rule := map[string]any{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{"get"}}
	after, err := OperatorRole(root, "mine", rule)
	if err != nil {
		t.Fatal(err)
	}
	if before.GetKind() != "ClusterRole" || before.GetName() != "mine" {
		t.Errorf("got %s %s, want ClusterRole mine", before.GetKind(), before.GetName())
	}
	if !strings.Contains(fmt.Sprint(before.Object["rules"]), "*/finalizers") {
		t.Error("the right that the admission plugin of the test cluster asks for is missing")
	}
	if rules(t, before) < 2 || rules(t, after) != rules(t, before)+1 {
		t.Errorf("got %d rules, and %d with one more", rules(t, before), rules(t, after))
	}
}

func rules(t *testing.T, role *unstructured.Unstructured) int {
	t.Helper()
	all, _, err := unstructured.NestedSlice(role.Object, "rules")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := OperatorRole(dir, "mine"); err == nil || !strings.Contains(err.Error(), "operator.yaml") {
		t.Errorf("no such file: got error %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "config"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config", "bad.yaml"), []byte("a: b: c"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Added(dir, "bad.yaml"); err == nil || !strings.Contains(err.Error(), "bad.yaml") {
		t.Errorf("no patch: got error %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config", "other.yaml"), []byte("[{op: remove, path: /rules}]"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Added(dir, "other.yaml"); err == nil || !strings.Contains(err.Error(), "other.yaml: want rules to be added, got remove /rules") {
		t.Errorf("another patch: got error %v", err)
	}
	if _, err := Read(dir, "bad.yaml"); err == nil || !strings.Contains(err.Error(), "bad.yaml") {
		t.Errorf("invalid YAML: got error %v", err)
	}
}
