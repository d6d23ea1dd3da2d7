package document_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
)

const commentedOut = "the # before it comments out only the first"

// commentHelpers are helpers that print several lines, or a #.
const commentHelpers = `{{ define "lines" }}{{ .spec.s }}
{{ .spec.s }}{{ end }}{{ define "hash" }}#{{ end }}` +
	"{{ define \"commented\" }}a: b\n# {{ toYaml .spec.map | nindent 0 }}\n{{ end }}" +
	"{{ define \"return\" }}a\rb: c{{ end }}"

// renderComment renders a child twice and returns it as JSON.
func renderComment(t *testing.T, text string) (string, error) {
	t.Helper()
	p, err := render.Compile(render.Source{Helpers: commentHelpers, Children: []syntax.Template{{Name: "x", Text: "apiVersion: v1\nkind: A\n" + text}}})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	in := &render.Input{Parent: map[string]any{"spec": map[string]any{
		"s": "PRINTED", "yes": true, "map": map[string]any{"hostPID": true, "other": "x"}, "list": []any{"a", "b"}, "long": "a\nb",
	}}}
	objects, err := p.Child("x", in)
	// The second time, the output is cached.
	again, errAgain := p.Child("x", in)
	if (err == nil) != (errAgain == nil) || err == nil && encodeJSON(t, objects) != encodeJSON(t, again) {
		t.Errorf("%s: first %v, %v, then %v, %v", text, objects, err, again, errAgain)
	}
	if err != nil {
		return "", err
	}
	return encodeJSON(t, objects), nil
}

// TestMultilineValuesInCommentsAreRejected covers actions after a #, which comments out only the first line of their output.
func TestMultilineValuesInCommentsAreRejected(t *testing.T) {
	for text, want := range map[string]string{
		// Comments.
		"# a: {{ toYaml .spec.map | nindent 0 }}":                              "children[x]:3:9: ",
		"spec:\n  # a: {{ toYaml .spec.map | nindent 2 }}":                     "children[x]:4:11: ",
		"spec:\n  a: b # {{ toYaml .spec.map | nindent 2 }}":                   "children[x]:4:13: ",
		"spec:\n  a: # {{ toYaml .spec.map | nindent 4 }}":                     "children[x]:4:11: ",
		"a: | # {{ toYaml .spec.map | nindent 2 }}":                            "children[x]:3:11: ",
		"a: '#' # {{ toYaml .spec.map | nindent 0 }}":                          "children[x]:3:13: ",
		"a: b\n# {{ .spec.s }} {{ toYaml .spec.map | nindent 0 }}":             "children[x]:4:20: ",
		"# C# {{ toYaml .spec.map | nindent 0 }}":                              "children[x]:3:9: ",
		"# # # {{ toYaml .spec.map | nindent 0 }}":                             "children[x]:3:10: ",
		"\t# {{ toYaml .spec.map | nindent 0 }}":                               "children[x]:3:7: ",
		"{{ include \"hash\" . }} {{ toYaml .spec.map | nindent 0 }}":          "children[x]:3:27: ",
		"# {{ include \"lines\" . }}: x":                                       "children[x]:3:6: ",
		"# {{ include \"return\" . }}":                                         "children[x]:3:6: ",
		"# {{ template \"lines\" . }}: x":                                      "children[x]:3:15: ",
		"# {{ if .spec.yes }}{{ toYaml .spec.map | nindent 0 }}{{ end }}":      "children[x]:3:24: ",
		"# {{ range .spec.list }}{{ toYaml $.spec.map | nindent 0 }}{{ end }}": "children[x]:3:28: ",
		"# {{ toPrettyJson .spec.map }}":                                       "children[x]:3:6: ",
		"{{ include \"commented\" . }}":                                        "helpers:3:6: ",
		"{{ template \"commented\" . }}":                                       "helpers:3:6: ",
		"spec:\n  {{- include \"commented\" . | nindent 2 }}":                  "helpers:3:6: ",
		"spec: {{ include \"commented\" . | fromYaml }}":                       "helpers:3:6: ",
		"--- # {{ toYaml .spec.map | nindent 0 }}":                             "children[x]:3:10: ",
		"a: b\n... # {{ toYaml .spec.map | nindent 0 }}":                       "children[x]:4:10: ",
		// Invalid YAML after the comment: the error is about the comment.
		"spec:\n  # a: {{ toYaml .spec.map | nindent 4 }}\n  b: c": "children[x]:4:11: ",
		"a: b\n# {{ toYaml .spec.list | nindent 0 }}":              "children[x]:4:6: ",
		"a: b\n# {{ toYaml .spec.map | nindent 0 }}\nother: 1":     "children[x]:4:6: ",
		// No comments.
		"a: |\n  # {{ toYaml .spec.map | nindent 2 }}":                `"a": "# \nhostPID: true\nother: x"`,
		"a: |\n  x # {{ toYaml .spec.map | nindent 2 }}":              `"a": "x # \nhostPID: true\nother: x"`,
		"a: >-\n  # {{ toYaml .spec.map | nindent 2 }}":               `"a": "#  hostPID: true other: x"`,
		"a: \"# {{ toYaml .spec.map | nindent 2 }}\"":                 `"a": "# hostPID: true other: x"`,
		"'a # b': {{ toYaml .spec.map | nindent 2 }}":                 `"a # b": {`,
		"\"a # b\": {{ toYaml .spec.map | nindent 2 }}":               `"a # b": {`,
		"a#b: {{ toYaml .spec.map | nindent 2 }}":                     `"a#b": {`,
		"a1#b: {{ toYaml .spec.map | nindent 2 }}":                    `"a1#b": {`,
		"a-#b: {{ toYaml .spec.map | nindent 2 }}":                    `"a-#b": {`,
		"a: x\n  {{ .spec.s }}#{{ include \"lines\" . | nindent 2 }}": `"a": "x PRINTED# PRINTED PRINTED"`,
		"a: |\n  {{- include \"commented\" . | nindent 2 }}":          `"a": "a: b\n# \nhostPID: true`,
		"a: {{ include \"commented\" . | quote }}":                    `"a": "a: b\n# \nhostPID: true`,
		"a: {{ include \"commented\" . | upper | quote }}":            `"a": "A: B\n# \nHOSTPID: TRUE`,
		"a: {{ include \"commented\" . | len }}":                      `"a": 31`,
		"{{ $x := include \"commented\" . }}a: b":                     `"a": "b"`,
		"{{ if include \"commented\" . }}a: b{{ end }}":               `"a": "b"`,
		"# {{ .spec.s }} {{ .spec.long }} {{ .spec.map }}\na: b":      `"a": "b"`,
		"# {{ toJson .spec.map }}\na: b":                              `"a": "b"`,
		"# {{ toYaml .spec.s }}\na: b":                                `"a": "b"`,
		"# {{ quote .spec.long }}\na: b":                              `"a": "b"`,
		"# {{ .spec.long | nindent 2 | quote }}\na: b":                `"a": "b"`,
		"# {{/* toYaml .spec.map | nindent 2 */}}\na: b":              `"a": "b"`,
		"# {{- range .spec.list }}\n# - {{ . }}\n# {{- end }}\na: b":  `"a": "b"`,
		"# a\n{{ toYaml .spec.map }}":                                 `"hostPID": true`,
	} {
		got, err := renderComment(t, text)
		e, failed := errors.AsType[*syntax.Error](err)
		switch {
		case strings.HasPrefix(want, `"`):
			if err != nil || !strings.Contains(got, want) {
				t.Errorf("%s\ngot  %s, %v\nwant %s", text, got, err, want)
			}
		case !failed || !strings.HasPrefix(e.Error(), want) || !strings.Contains(e.Message, commentedOut):
			t.Errorf("%s\ngot  %s, %v\nwant %s", text, got, err, want)
		}
	}
}

// TestCommentDetectionMatchesParser puts random YAML fragments before an action. If a single-line value is lost, it is in a comment:
// only there must a multi-line value be rejected for this reason.
func TestCommentDetectionMatchesParser(t *testing.T) {
	fragments := []string{"#", " # ", "a: ", "b", "'", "\"", " ", "\n", "\n  ", "|\n  ", ">-\n ", "- ", "[", "{ ", "]", ", ", "x: y", "\t", "\r", "---\n", "1", "&a ", "\u2028"}
	random := rand.New(rand.NewPCG(5, 5)) //nolint:gosec // the same each time
	refused, fine := 0, 0
	for range 4000 {
		before := ""
		for range 1 + random.IntN(7) {
			before += fragments[random.IntN(len(fragments))]
		}
		if !strings.Contains(before, "#") {
			continue
		}
		for _, after := range []string{"", "'", "\"", "\n]"} {
			one, err := renderComment(t, before+"{{ .spec.s }}"+after)
			if err != nil {
				continue
			}
			_, err = renderComment(t, before+`{{ include "lines" . | indent 6 }}`+after)
			told := err != nil && strings.Contains(err.Error(), commentedOut)
			switch lost := !strings.Contains(one, "PRINTED"); {
			case lost && err == nil:
				t.Errorf("%q: several lines in a comment, and no error", before)
			case !lost && told:
				t.Errorf("%q: no comment, and %v", before, err)
			case told:
				refused++
			case err == nil:
				fine++
			}
		}
	}
	if refused < 100 || fine < 20 {
		t.Errorf("%d were refused, %d were fine: these are not enough", refused, fine)
	}
}
