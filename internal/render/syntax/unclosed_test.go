package syntax

import (
	"strings"
	"testing"
)

// TestUnclosedBlocksAreCounted has what looks like the begin or the end of a block, and is none.
func TestUnclosedBlocksAreCounted(t *testing.T) {
	for text, want := range map[string]int{
		"{{ if .a }}":                                    1,
		"{{- with .a -}}{{ range .b }}{{ end }}":         1,
		`{{ define "x" }}{{ if .a }}`:                    2,
		`{{ block "x" . }}`:                              1,
		"{{ if .a }}{{ else if .b }}{{ else }}":          1,
		"{{ if .a }}{{/* {{ end }} */}}":                 1,
		"{{ if .a }}{{- /* }} end */ -}}{{ printf }}":    1,
		"{{ if .a }}{{ print \"{{ end }}\\\" }}\" }}":    1,
		"{{ if .a }}{{ print `\\` }}{{ print '\\'' }}":   1,
		"{{ if .a }}{{ $end := `}}{{ end` }}{{ iffy }}":  1,
		"{{ if .a }}{{\n  end\n}}{{if .a}}{{end}}":       0,
		"{{ if .a }}{{ range\n.b }}{{ break }}{{ end}}b": 1,
		strings.Repeat("{{ if .a }}", mostUnclosed):      mostUnclosed,
		strings.Repeat("{{ if .a }}", mostUnclosed+1):    0,
	} {
		for _, delimiters := range [][2]string{{"", ""}, {"[[", "]]"}} {
			source := Source{Status: text, LeftDelim: delimiters[0], RightDelim: delimiters[1], Functions: map[string]*Function{}}
			if delimiters[0] != "" {
				source.Status = strings.NewReplacer("{{", "[[", "}}", "]]").Replace(text)
			}
			c := &compiler{src: source}
			if got := len(c.unclosed(NewText("status", source.Status))); got != want {
				t.Errorf("%s: %d blocks, want %d", source.Status, got, want)
			}
		}
	}
}
