package diff

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestUnservedKindPrunesNothing: a misspelled apiVersion is an error, and errors never prune.
func TestUnservedKindPrunesNothing(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one)
	c.missing = []schema.GroupKind{{Group: "core", Kind: "ConfigMap"}}
	report, got := c.compare(strings.ReplaceAll(configMap, "apiVersion: v1", "apiVersion: core/v1"))
	for _, line := range got {
		if strings.Contains(line, "delete") || strings.Contains(line, "create") {
			t.Errorf("got %q, want no change", line)
		}
	}
	if len(report.Parents) != 1 || len(report.Parents[0].Errors) != 1 || !strings.Contains(report.Parents[0].Errors[0], "core/v1") {
		t.Errorf("want a fault that names core/v1: %q", got)
	}
}
