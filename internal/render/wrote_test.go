package render

import (
	"testing"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// TestKeysFromTemplateAreDistinguishedFromData tests which keys the author wrote.
func TestKeysFromTemplateAreDistinguishedFromData(t *testing.T) {
	p, err := Compile(Source{
		Values:   map[string]any{"annotations": map[string]any{"example.org/team": "sales"}, "labels": []any{"example.org/tier"}},
		Helpers:  `{{ define "h" }}{{ dict "made" .spec.kept }}{{ end }}`,
		Children: []syntax.Template{{Name: "a", Text: "data:\n  app.example.org/name: x\n  'in quotes': {flow: 1,next: 2}\n  k-{{ .spec.n }}: tokens a.b\nlast"}},
		Status:   "{{ with .spec }}end:{{ .hidden }}\n{{ end }}",
	})
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]bool{
		"data": true, "app.example.org/name": true, "in quotes": true, "flow": true, "next": true, "made": true, "end": true, "last": true, "a.b": true,
		"annotations": true, "example.org/team": true, "example.org/tier": true,
		"": false, "kept": false, "hidden": false, "token": false, "okens": false, "k-1": false, "name": false, "a": false, "b": false, "s3cr3t": false, "team": false, "tier": false,
	} {
		if p.Wrote(word) != want {
			t.Errorf("%q: got %v", word, !want)
		}
	}
}
