package main

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestEstablished(t *testing.T) {
	for why, row := range map[string]struct {
		conditions []any
		want       bool
	}{
		"it is new":              {nil, false},
		"its names are accepted": {ready("NamesAccepted", "True", "NoConflicts"), false},
		"it is being installed":  {append(ready("NamesAccepted", "True", "NoConflicts"), ready("Established", "False", "Installing")...), false},
		"it is served":           {append(ready("NamesAccepted", "True", "NoConflicts"), ready("Established", "True", "InitialNamesAccepted")...), true},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": row.conditions}}}
		if got := established(o); got != row.want {
			t.Errorf("%s: got %v, want %v", why, got, row.want)
		}
	}
}
