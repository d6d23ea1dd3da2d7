package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutDropsPathAndEmptiedMappings(t *testing.T) {
	for why, row := range map[string]struct {
		set  string
		path []string
		want string
		had  bool
	}{
		"a field with neighbors":                 {`{"f:spec":{"f:replicas":{},"f:paused":{}}}`, []string{"spec", "replicas"}, `{"f:spec":{"f:paused":{}}}`, true},
		"the only field: spec itself is not own": {`{"f:spec":{"f:replicas":{}}}`, []string{"spec", "replicas"}, `{}`, true},
		"the mapping is owned, too":              {`{"f:spec":{".":{},"f:replicas":{}},"f:data":{}}`, []string{"spec", "replicas"}, `{"f:data":{}}`, true},
		"a mapping with all its fields":          {`{"f:spec":{"f:a":{"f:b":{}},"f:c":{}}}`, []string{"spec", "a"}, `{"f:spec":{"f:c":{}}}`, true},
		"a list by its items":                    {`{"f:spec":{"f:ports":{"k:{\"port\":1}":{}},"f:c":{}}}`, []string{"spec", "ports"}, `{"f:spec":{"f:c":{}}}`, true},
		"not owned":                              {`{"f:spec":{"f:paused":{}}}`, []string{"spec", "replicas"}, `{"f:spec":{"f:paused":{}}}`, false},
		"the mapping is atomic":                  {`{"f:spec":{"f:selector":{}}}`, []string{"spec", "selector", "a"}, `{"f:spec":{"f:selector":{}}}`, false},
	} {
		t.Run(why, func(t *testing.T) {
			before := set(t, row.set)
			got, had := before.Without(row.path...)
			if diff := cmp.Diff(set(t, row.want), got); diff != "" || had != row.had {
				t.Errorf("had %v, want %v; the rest (-want +got):\n%s", had, row.had, diff)
			}
			if diff := cmp.Diff(set(t, row.set), before); diff != "" {
				t.Errorf("the set was modified:\n%s", diff)
			}
		})
	}
}

func TestWholeAbove(t *testing.T) {
	for text, want := range map[string]int{
		`{"f:spec":{"f:selector":{}}}`:                  2,
		`{"f:spec":{}}`:                                 1,
		`{"f:spec":{"f:selector":{"f:a":{},"f:b":{}}}}`: 0,
		`{"f:data":{}}`:                                 0,
	} {
		if got := set(t, text).WholeAbove([]string{"spec", "selector", "a"}); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

func TestReleaseFieldsOfOneManager(t *testing.T) {
	entry := func(manager, operation, subresource, fields string) any {
		return map[string]any{"manager": manager, "operation": operation, "subresource": subresource, "fieldsV1": map[string]any(set(t, fields))}
	}
	const both, paused = `{"f:spec":{"f:replicas":{},"f:paused":{}}}`, `{"f:spec":{"f:paused":{}}}`
	others := []any{entry("templater/x", "Update", "", both), entry("templater/x", "Apply", "status", both), entry("other", "Apply", "", both)}
	rest, ok := ReleaseFields(append([]any{entry("templater/x", "Apply", "", both)}, others...), "templater/x", [][]string{{"spec", "replicas"}, {"spec", "none"}})
	if diff := cmp.Diff(append([]any{entry("templater/x", "Apply", "", paused)}, others...), rest); diff != "" || !ok {
		t.Errorf("released: %v; managedFields (-want +got):\n%s", ok, diff)
	}
	if _, ok := ReleaseFields(others, "templater/x", [][]string{{"spec", "replicas"}}); ok {
		t.Error("fields of others count as released")
	}
}
