package render

import (
	"strings"
	"testing"
)

// TestLastFreeMarkerIsUsed leaves one character for tokens.
func TestLastFreeMarkerIsUsed(t *testing.T) {
	const lastMarker = '\uf8ff'
	var all strings.Builder
	for r := '\ue000'; r < lastMarker; r++ {
		all.WriteRune(r)
	}
	p, err := Compile(Source{Status: "# " + all.String() + "\na: {{ .spec.a }}"})
	if err != nil {
		t.Fatal(err)
	}
	status, err := p.Status(&Input{Parent: map[string]any{"spec": map[string]any{"a": "b"}}})
	if err != nil || p.marker != string(lastMarker) || status["a"] != "b" {
		t.Errorf("marker %q, %v, %v", p.marker, status, err)
	}
}
