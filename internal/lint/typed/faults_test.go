package typed

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/finding"
)

const brokenHelpers = `{{ define "labels" }}app: shop
tier: web{{ end }}`

// TestInvalidYAMLIsReported has the text of a child that is broken in one way, and its finding: none behind a branch or lines that are printed.
func TestInvalidYAMLIsReported(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .metadata.name }}\n"
	for text, want := range map[string]string{
		"data:\n  a: 1\n    b: 2\n":                                  "error TL054 children[pod]:7:5+4 this line is indented deeper than \"a:\", which already has a value: use the same indentation for both (YAML: mapping values are not allowed in this context)",
		"data:\n  a: {{ .spec.image }}\n    b: 2\n":                  "error TL054 children[pod]:7:5+4 this line is indented deeper than \"a:\", which already has a value: use the same indentation for both (YAML: mapping values are not allowed in this context)",
		"data:\n  a: {{ .spec.image | quote }}\n   b: 2\n":           "error TL054 children[pod]:7:4+4 this line is indented deeper than \"a:\", which already has a value: use the same indentation for both (YAML: mapping values are not allowed in this context)",
		"data:\n  a: {{ .spec.image }}-{{ .spec.mode }}\n    b: 2\n": "error TL054 children[pod]:7:5+4 this line is indented deeper than \"a:\", which already has a value: use the same indentation for both (YAML: mapping values are not allowed in this context)",
		"data:\n  a: \"{{ .spec.image }}\n  b: 2\n":                  "error TL054 children[pod]:6:6+18 the quotes that begin here are never closed (YAML: found unexpected end of stream)",
		"data:\n\ta: 1\n":                                                                                        "error TL054 children[pod]:6:1+5 this line is indented with a tab: use spaces (YAML: found character that cannot start any token)",
		"data:\n  a 1\n  b: 2\n":                                                                                 "error TL054 children[pod]:6:3+3 this line has no colon after its key, or it is text that needs quotes (YAML: mapping values are not allowed in this context)",
		"data:\n  a: x: y\n":                                                                                     "error TL054 children[pod]:6:7+3 the value contains a colon followed by a space: quote the value (YAML: mapping values are not allowed in this context)",
		"data:\n  a: [x, {{ .spec.image }}\n  b: 2\n":                                                            "error TL054 children[pod]:6:6+21 the [ here is not closed, or a comma is missing after an item (YAML: did not find expected ',' or ']')",
		"data:\n  a: 1\n b: 2\n":                                                                                 "error TL054 children[pod]:7:2+4 this line is indented by 1, which matches neither \"a:\" (2) nor \"data:\" (0) (YAML: did not find expected key)",
		"data:\n  a: *.example.com\n":                                                                            "error TL054 children[pod]:6:6+13 a value that begins with & or * is a YAML anchor or alias: quote it (YAML: unknown anchor '.example.com' referenced)",
		"data:\n  a: @x\n":                                                                                       "error TL054 children[pod]:6:6+2 no value can begin with @: quote it (YAML: found character that cannot start any token)",
		"data:\n  {{- $x := .spec.image }}\n  a: x: y\n":                                                         "error TL054 children[pod]:7:7+3 the value contains a colon followed by a space: quote the value (YAML: mapping values are not allowed in this context)",
		"data:\n  {{- if .spec.paused }}{{ end }}\n  a: x: y\n":                                                  "",
		"data:\n  a: {{ toYaml .spec.hosts }}: b: c\n":                                                           "",
		"data:\n  {{- if .spec.paused }}\n  a: 1\n  {{- end }}\n  b: x: y\n":                                     "",
		"data:\n  {{- if .spec.paused }}\n  a: x: y\n  {{- end }}\n  b: 1\n":                                     "",
		"data:\n  {{- if .spec.paused }}\n  a: 1\n  {{- else }}\n  a: x: y\n  {{- end }}\n":                      "",
		"data:\n  {{- if .spec.paused }}\n  a: 1\n  {{- end }}\n   b: 1\n":                                       "",
		"data:\n  {{- range .spec.hosts }}\n  a{{ . }}: {{ . }}: x\n  {{- end }}\n":                              "",
		"data:\n  {{- include \"labels\" . | nindent 2 }}\n  b: x: y\n":                                          "",
		"data:\n  {{- include \"labels\" . | nindent 2 }}\n    b: x: y\n":                                        "",
		"data:\n  {{- toYaml .spec.template | nindent 4 }}\nother\nmore: 1\n":                                    "",
		"data:\n  a: {{ with .spec.port }}[{{ . }}{{ end }}\n":                                                   "",
		"data: [{{ range $i, $h := .spec.hosts }}{{ if $i }},{{ end }}{{ $h }}{{ end }}]\n":                      "",
		"data: [\n{{ range $i, $h := .spec.hosts }}\n{{ if $i }}\n,\n{{ end }}\n{{ $h }}\n{{ end }}\n]\n":        "",
		"data:\n{{ if .spec.paused }}\n  a: [1\n{{ else }}\n  a: [2\n{{ end }}\n  ]\n":                           "",
		"data:\n{{ if .spec.paused }}\n  a: [1\n{{ end }}\n{{ if not .spec.paused }}\n  a: [2\n{{ end }}\n  ]\n": "",
		"data:\n  a: |\n    x: y: z\n   \tb\n":                                                                   "error TL054 children[pod]:8:4+2 this line is indented with a tab: use spaces (YAML: found a tab character where an indentation space is expected)",
		"data: {a: {{ .spec.image }}, b: {{ toYaml .spec.hosts }}}\n":                                            "",
		"data:\n- {{ include \"labels\" . | nindent 2 }}\n  x: y\n":                                              "",
		"data:\n  {{ .spec.image }}: {{ .spec.mode }}\n":                                                         "",
		"{{ if not .spec.image }}\n{{ fail \"no\" }}\n{{ end }}\ndata:\n  a: 1: 2\n":                             "",
		"{{ if not .spec.image }}\na: [ {{ fail \"no\" }}\n{{ end }}\ndata: {}\n":                                "",
		"{{ with .spec.port }}\ndata:\n  a: 1: 2\n{{ else }}{{ wait \"no\" }}{{ end }}\n":                        "",
		"{{ range .spec.hosts }}a: [ {{ fail \"no\" }}{{ else }}\ndata:\n  a: 1: 2\n{{ end }}\n":                 "",
		"{{ range .spec.hosts }}a: 1\n{{ else }}{{ fail \"no\" }}{{ end }}\ndata:\n  a: 1: 2\n":                  "",
		"x{{ include \"labels\" . }}\ndata: {}\n":                                                                "",
		"{{ .spec.image }}{{ include \"labels\" . }} # which makes a key of it\ndata: {}\n":                      "",
		"data:\n  a: {{ .values.x }}\n  b\n":                                                                     "error TL054 children[pod]:7:3+1 this line has no colon after its key, or it continues a multi-line string and is not indented enough (YAML: could not find expected ':')",
	} {
		var got []string
		for _, f := range checked(t, given{helpers: brokenHelpers, child: head + text}, known(t)) {
			if f.Code == finding.NoYAML {
				got = append(got, show(f))
			}
		}
		if all := strings.Join(got, "\n"); all != want {
			t.Errorf("%q\ngot  %s\nwant %s", text, all, want)
		}
	}
}

// pieces makes random texts of templates that are YAML at times.
type pieces struct{ *rand.Rand }

func (p pieces) text(depth int) string {
	var out strings.Builder
	for range 1 + p.IntN(6) {
		out.WriteString(p.piece(depth))
	}
	return out.String()
}

func (p pieces) piece(depth int) string {
	plain := []string{"a: ", "b: 1\n", "c:\n  ", "d:\n- ", "\n", "\n  ", "\n    ", "- x\n", "'", "\"", "[", "]", "{", "}", ", ", ": ", " # c\n", "|\n  ", "\t", "x", "e", "---\n", "*", "!", ":", "  f: 2\n", "    g: 3\n"}
	actions := []string{
		"{{ .spec.s }}", "{{ .spec.n }}", "{{ .spec.map }}", "{{ .spec.list }}", "{{ toYaml .spec.map | nindent 2 }}", `{{ include "labels" . | nindent 2 }}`, `{{ include "labels" . }}`, "{{ quote .spec.s }}", "{{ .spec.s | squote }}",
		`{{ $x := include "labels" . }}`, "{{ $y }}", "{{- /* c */ -}}", "{{ toJson .spec.map }}", `{{ .spec.none | default "z" }}`, "{{ upper .spec.s }}\n", "{{ .spec.s }}\n", "{{- 1 }}", "{{ list 1 2 -}}", `{{ template "labels" . }}`, `{{ if not .spec.one }}x: [{{ fail "no" }}{{ end }}`, `{{ with .spec.two }}{{ . }}{{ else }}{{ wait "no" }}{{ end }}`,
	}
	switch k := p.IntN(20); {
	case k < 11 || depth > 2:
		return plain[p.IntN(len(plain))]
	case k < 17:
		return actions[p.IntN(len(actions))]
	case k < 19:
		condition := []string{".spec.one", ".spec.two", "not .spec.one", "eq .spec.n 1"}[p.IntN(4)]
		other := ""
		if p.IntN(2) == 0 {
			other = "{{ else }}" + p.text(depth+1)
		}
		return p.open("if "+condition) + p.text(depth+1) + other + p.open("end")
	}
	return p.open("range $i, $v := .spec.list") + p.text(depth+1) + p.open("end")
}

func (p pieces) open(action string) string {
	return []string{"{{ ", "{{- "}[p.IntN(2)] + action + []string{" }}", " }}\n", " -}}"}[p.IntN(3)]
}

// TestInvalidYAMLFindingsNeverRender draws templates, and renders them in all ways: none that renders has a finding.
func TestInvalidYAMLFindingsNeverRender(t *testing.T) {
	var data []map[string]any
	for i := range 8 {
		for _, items := range []int{0, 1, 3} {
			data = append(data, map[string]any{"spec": map[string]any{
				"s": "text", "n": int64(i & 1), "map": map[string]any{"k": "v", "l": "w"}, "list": []any{"a", "b", "c"}[:items], "one": i&2 > 0, "two": i&4 > 0,
			}})
		}
	}
	found, escaped, fine := 0, 0, 0
	for seed := range *randomTemplates * 2 {
		p := pieces{rand.New(rand.NewPCG(uint64(seed), *randomSeed))}
		text := "{{ $y := .spec.s }}" + p.text(0)
		program, err := render.Compile(render.Source{Helpers: brokenHelpers, Status: text})
		if err != nil {
			continue
		}
		all := Check(nil, &v1.TemplateController{Spec: v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "example.org/v1", Kind: "Random"}}}, program, nil)
		i := slices.IndexFunc(all, func(f finding.Finding) bool { return f.Code == finding.NoYAML && f.Severity == finding.Error })
		renders, broken := 0, 0
		for _, parent := range data {
			_, err := program.Status(&render.Input{Parent: parent})
			switch {
			case err == nil:
				renders++
			case strings.Contains(err.Error(), "YAML"):
				broken++
			}
		}
		switch {
		case i >= 0 && renders > 0:
			t.Errorf("template %d renders, but: %s\n%s", seed, all[i], text)
		case i >= 0:
			found++
		case broken == len(data):
			escaped++
		default:
			fine++
		}
	}
	t.Logf("%d are found to be no YAML, %d escape, %d are YAML at times", found, escaped, fine)
	if found < *randomTemplates/20 {
		t.Error("these are not enough")
	}
}
