package main

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestServedCRDsAreEstablished(t *testing.T) {
	for why, row := range map[string]struct {
		conditions []any
		want       bool
	}{
		"new":                {nil, false},
		"names are accepted": {ready("NamesAccepted", "True", "NoConflicts"), false},
		"being installed":    {append(ready("NamesAccepted", "True", "NoConflicts"), ready("Established", "False", "Installing")...), false},
		"established":        {append(ready("NamesAccepted", "True", "NoConflicts"), ready("Established", "True", "InitialNamesAccepted")...), true},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": row.conditions}}}
		if got := established(o); got != row.want {
			t.Errorf("%s: got %v, want %v", why, got, row.want)
		}
	}
}
