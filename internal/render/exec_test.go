package render

import (
	"errors"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// TestControlStructures has the actions that choose, repeat and declare.
func TestControlStructures(t *testing.T) {
	for text, want := range map[string]string{
		`{{ range .spec.list }}{{ . }}{{ end }}`:                                             `"ab"`,
		`{{ range .spec.none }}a{{ else }}b{{ end }}`:                                        `"b"`,
		`{{ range .spec.emptyMap }}a{{ else }}b{{ end }}`:                                    `"b"`,
		`{{ range .spec.missing }}a{{ else }}b{{ end }}`:                                     `"b"`,
		`{{ range 0 }}a{{ else }}b{{ end }}`:                                                 `"b"`,
		`{{ range -1 }}a{{ else }}b{{ end }}`:                                                `"b"`,
		`{{ range 3 }}{{ . }}{{ else }}b{{ end }}`:                                           `"012"`,
		`{{ range $k, $v := .spec.map }}{{ $k }}{{ $v }}{{ else }}b{{ end }}`:                `"ax: yb2"`,
		`{{ range $i, $v := .spec.list }}{{ $i }}{{ $v }}{{ end }}`:                          `"0a1b"`,
		`{{ range $v := .spec.list }}{{ $v }}{{ . }}{{ end }}`:                               `"aabb"`,
		`{{ range 4 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ . }}{{ end }}`:                `"023"`,
		`{{ range 4 }}{{ if eq . 2 }}{{ break }}{{ end }}{{ . }}{{ else }}b{{ end }}`:        `"01"`,
		`{{ range .spec.map }}{{ break }}{{ else }}b{{ end }}c`:                              `"c"`,
		`{{ range .spec.list }}{{ break }}{{ else }}b{{ end }}c`:                             `"c"`,
		`{{ range 2 }}{{ range list }}{{ else }}a{{ break }}b{{ end }}c{{ end }}`:            `"acac"`,
		`{{ range 2 }}{{ range list }}{{ else }}a{{ continue }}b{{ end }}c{{ end }}`:         `"aa"`,
		`{{ range list }}{{ else }}{{ fail "no" }}{{ end }}`:                                 `error: no`,
		`{{ $x := 1 }}{{ range $x := .spec.list }}{{ end }}{{ $x }}`:                         `1`,
		`{{ $x := 1 }}{{ range $x = .spec.list }}{{ end }}{{ $x }}`:                          `"b"`,
		`{{ $i := 1 }}{{ $x := 1 }}{{ range $i, $x = .spec.list }}{{ end }}{{ $i }}{{ $x }}`: `"1b"`,
		`{{ $x := 1 }}{{ range 2 }}{{ $y := . }}{{ $x = $y }}{{ end }}{{ $x }}`:              `1`,
		`{{ $x := 1 }}{{ range 3 }}{{ $x := 5 }}{{ $x = 6 }}{{ end }}{{ $x }}`:               `1`,
		`{{ $x := 1 }}{{ if $x := 2 }}{{ $x }}{{ end }}{{ $x }}`:                             `"21"`,
		`{{ $x := 1 }}{{ with $y := 5 }}{{ $x = add $y . }}{{ end }}{{ $x }}`:                `10`,
		`{{ with .spec.missing }}a{{ else }}b{{ end }}`:                                      `"b"`,
		`{{ with .spec }}{{ .s }}{{ else }}b{{ end }}`:                                       `"text"`,
		`{{ with .spec }}{{ with .missing }}{{ else }}{{ .s }}{{ end }}{{ end }}`:            `"text"`,
		`a{{ if .spec.no }}b{{ end }}`:                                                       `"a"`,
		`{{ if .spec.no }}a{{ else if .spec.yes }}b{{ else }}c{{ end }}`:                     `"b"`,
		`{{ range .spec.s }}{{ end }}`:                                                       `error: range needs a list, a map or an integer; .spec.s is a string`,
		`{{ range .controller }}{{ . }}{{ end }}`:                                            `"tc"`,
		`{{/* no */}}a{{ $x := .spec.missing }}`:                                             `"a"`,
		`{{ define "x" }}{{ $ }}{{ end }}{{ $x := 1 }}{{ template "x" 5 }}{{ $x }}`:          `"51"`,
		`{{ define "x" }}a{{ end }}{{ template "x" }}`:                                       `"a"`,
		`{{ define "x" }}{{ .a }}{{ end }}{{ template "x" (dict "a" .spec.missing) }}`:       `error: .a has no value; set it, or use default, required or if`,
		`{{ template "name" (fail "no") }}`:                                                  `error: no`,
		`{{ with fail "no" }}{{ end }}`:                                                      `error: no`,
		`{{ range fail "no" }}{{ end }}`:                                                     `error: no`,
		`{{ range .spec.list }}{{ fail . }}{{ else }}b{{ end }}`:                             `error: a`,
		`{{ range .spec.map }}{{ fail (toString .) }}{{ end }}`:                              `error: x: y`,
		`{{ range 2 }}{{ fail (toString .) }}{{ end }}`:                                      `error: 0`,
		`{{ (fail "no").a }}`:                                                                `error: no`,
		`{{ upper (fail "no") }}`:                                                            `error: no`,
		`{{ and (fail "no") 1 }}`:                                                            `error: no`,
		`{{ or (fail "no") 1 }}`:                                                             `error: no`,
		`{{ or 1 (fail "no") }}`:                                                             `1`,
		`{{ and 0 (fail "no") }}`:                                                            `0`,
		`{{ range .spec.s }}{{ else }}b{{ end }}`:                                            `error: range needs a list, a map or an integer; .spec.s is a string`,
		`{{ range $v := .spec.list }}{{ $y := 1 }}{{ $v }}{{ end }}`:                         `"ab"`,
		`{{ define "bad" }}a: b: c{{ end }}{{ fromYaml (include "bad" .) }}`:                 `error: fromYaml: the value contains a colon followed by a space: quote the value (YAML: mapping values are not allowed in this context)`,
		`{{ $c := .controller }}{{ $c.nam }}`:                                                `error: unknown name .controller.nam; did you mean .controller.name?; known: .controller.name`,
		`{{ get (dict "\"k\"" "a\nb") (quote "k") | indent 2 }}`:                             `"a\nb"`,
		`{{ index (splitList "," (quote "a,b")) 1 | indent 2 }}`:                             `"b\""`,
		`{{ $ = 5 }}{{ $ }}`:                                                                 `5`,
		`{{ fail "no" | upper }}`:                                                            `error: no`,
		`{{ (.spec).s }}{{ ($.spec).n }}`:                                                    `"text3"`,
		`{{ $s := .spec }}{{ $s.map.b }}`:                                                    `2`,
		`{{ true }}`:                                                                         `true`, `{{ "a" }}`: `"a"`, `{{ 0x1F }}`: `31`, `{{ -0x1F }}`: `-31`, `{{ +0X1e }}`: `30`, `{{ 1_000 }}`: `1000`, `{{ 'a' }}`: `97`,
		`{{ 0b11 }}`: `3`, `{{ 1e3 }}`: `1000`, `{{ 0e1 }}{{ 1E1 }}`: `"010"`,
	} {
		got, err := renderValue(t, text)
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			got = "error: " + e.Message
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// TestNestingDepthIsLimited goes as deep as is allowed, and one further.
func TestNestingDepthIsLimited(t *testing.T) {
	const deep = `{{ $l := list }}{{ range N }}{{ $l = list $l }}{{ end }}`
	const same = deep + `{{ $m := list }}{{ range N }}{{ $m = list $m }}{{ end }}`
	const maps = `{{ $l := dict }}{{ range N }}{{ $l = dict "a" $l }}{{ end }}`
	const nesting = "data is nested more than 100 levels deep"
	for text, row := range map[string]struct{ most, further string }{
		deep + `{{ $l }}`:                                                             {"99", "100"},
		deep + `{{ toYaml $l | len }}`:                                                {"100", "101"},
		deep + `{{ toPrettyJson $l | len }}`:                                          {"100", "101"},
		maps + `{{ toYaml $l | len }}`:                                                {"100", "101"},
		same + `{{ deepEqual $l $m }}`:                                                {"100", "101"},
		maps + `{{ ready (dict "status" $l) }}`:                                       {"100", "101"},
		deep + `{{ ready (dict "status" $l) }}`:                                       {"100", "101"},
		maps + `{{ merge $l $l | len }}`:                                              {"100", "101"},
		`{{ fromYaml (print (repeat N "[") (repeat N "]")) | len }}`:                  {"101", "102"},
		`{{ fromYaml (print "{<<: " (repeat N "[") "{}" (repeat N "]") "}") | len }}`: {"99", "100"},
		`{{ fromJson (print (repeat N "[") (repeat N "]")) | toJson | len }}`:         {"101", "102"},
		`{{ define "x" }}{{ if . }}{{ template "x" (rest .) }}{{ end }}{{ end }}{{ template "x" (until N) }}a`: {"62", "63"},
	} {
		want := nesting
		if strings.Contains(text, "template") {
			want = "include calls are nested more than 64 levels deep"
		}
		if _, err := renderValue(t, strings.ReplaceAll(text, "N", row.most)); err != nil {
			t.Errorf("%s with %s: %v", text, row.most, err)
		}
		_, err := renderValue(t, strings.ReplaceAll(text, "N", row.further))
		if e, ok := errors.AsType[*syntax.Error](err); !ok || e.Message != want {
			t.Errorf("%s with %s: %v", text, row.further, err)
		}
	}
}
