package render

import (
	"errors"
	"math"
	"testing"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// TestNonJSONDataIsRejected meets values that no decoder of JSON makes, wherever a template comes by them.
func TestNonJSONDataIsRejected(t *testing.T) {
	for _, action := range []string{
		`{{ .spec.bad }}`, `{{ .spec.list }}`, `{{ .spec.map }}`, `{{ toYaml .spec.list }}`, `{{ toYaml .spec.map }}`, `{{ toJson .spec.map }}`, `{{ range .spec.list }}{{ end }}`,
		`{{ range .spec.map }}{{ end }}`, `{{ first .spec.list }}`, `{{ join "," .spec.list }}`, `{{ index .spec.list 0 }}`, `{{ index .spec.map "a" "b" }}`, `{{ has 1 .spec.list }}`, `{{ collect "a" (list .spec.map) }}`,
		`{{ collect "a" .spec.list }}`, `{{ sortBy "a" (list .spec.map) }}`, `{{ deepEqual .spec.map .spec.map }}`, `{{ uniq .spec.list }}`, `{{ fromJson "1e999" }}`, `{{ urlJoin .spec.map }}`, `{{ get .spec.map "a" }}`, `{{ dig "a" 1 .spec.map }}`,
	} {
		p := programOf(t, "apiVersion: v1\nkind: A\na: "+action)
		_, err := p.Child("x", &Input{Parent: map[string]any{"spec": map[string]any{
			"bad": math.NaN(), "list": []any{math.NaN()}, "map": map[string]any{"a": math.NaN()},
		}}})
		e, ok := errors.AsType[*syntax.Error](err)
		if want := "a number is not finite"; !ok || e.Reason != syntax.Invalid || e.Message != want && e.Message != "a number is too large" {
			t.Errorf("%s: %v, want %s", action, err, want)
		}
	}
}

// TestOutputFormatting shows what toYaml, toJson and an action write, character by character.
func TestOutputFormatting(t *testing.T) {
	const nested = `(dict "a" (list 1 (dict "b" nil "c" (list))) "d" (dict) "e" (list (list 1 2) (list) (dict "f" 1 "g" 2)) "h" (dict "i" (dict "j" "k")))`
	for action, want := range map[string]string{
		"toYaml " + nested:        "a:\n- 1\n- b: null\n  c: []\nd: {}\ne:\n- - 1\n  - 2\n- []\n- f: 1\n  g: 2\nh:\n  i:\n    j: k",
		"toJson " + nested:        `{"a":[1,{"b":null,"c":[]}],"d":{},"e":[[1,2],[],{"f":1,"g":2}],"h":{"i":{"j":"k"}}}`,
		"toPrettyJson " + nested:  "{\n  \"a\": [\n    1,\n    {\n      \"b\": null,\n      \"c\": []\n    }\n  ],\n  \"d\": {},\n  \"e\": [\n    [\n      1,\n      2\n    ],\n    [],\n    {\n      \"f\": 1,\n      \"g\": 2\n    }\n  ],\n  \"h\": {\n    \"i\": {\n      \"j\": \"k\"\n    }\n  }\n}",
		"include \"x\" " + nested: `{a: [1, {b: null, c: []}], d: {}, e: [[1, 2], [], {f: 1, g: 2}], h: {i: {j: k}}}`,
		"toYaml (list)":           "[]",
		"toYaml (dict)":           "{}",
		"toPrettyJson (list)":     "[]",
		"toPrettyJson (dict)":     "{}",
		"toYaml .controller":      `name: ""`,
		"toJson .controller":      `{"name":""}`,
		"include \"x\" (list .controller true 1.5 \"1.5\")": `[{name: ""}, true, 1.5, "1.5"]`,
		"include \"x\" true": "true",
		"toYaml (list (toYaml (list 1 2)) (upper (toYaml (list 1 2))))": `- "- 1\n- 2"` + "\n" + `- "- 1\n- 2"`,
	} {
		got, err := executeText(`{{ define "x" }}{{ . }}{{ end }}{{ `+action+` }}`, nil)
		if err != nil || got != want {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", action, err, got, want)
		}
	}
}
