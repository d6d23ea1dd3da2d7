package syntax

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestCompileErrors shows the exact findings in templates that are bound to
// fail.
func TestCompileErrors(t *testing.T) {
	for why, c := range map[string]struct {
		src  Source
		want []string
	}{
		"no mistakes": {Source{Status: "a: {{ .spec.a }}"}, nil},
		"text that does not parse": {Source{Status: "a:\n{{ if }}"},
			[]string{"status:2:1: missing value for if"}},
		"the second action of a line does not parse": {Source{Status: "é: {{ .spec.a }} {{- if }}{{ end }}"},
			[]string{"status:1:18: missing value for if"}},
		"a block that is not closed": {Source{Status: "a:\n{{ if .spec }}\nb"},
			[]string{"status:2:1: the block that begins here has no end"}},
		"several blocks that are not closed": {Source{Status: "{{ if .spec }}{{ range .spec }}{{ end }}\n  {{ with .spec }}\n{{ range .x }}{{ end }}{{ else with .y }}{{ else with .z }}\n"},
			[]string{"status:1:1: the block that begins here has no end", "status:2:3: the block that begins here has no end"}},
		"an else that is not closed": {Source{Status: "{{ if .spec }}a{{ else if .status }}b{{ else }}{{ if .x }}{{ end }}\n\n"},
			[]string{"status:1:1: the block that begins here has no end"}},
		"a block in an else that is not closed": {Source{Status: "{{ if .spec }}a{{ else }}\n{{ if .x }}{{ else }}\n{{ end }}"},
			[]string{"status:1:1: the block that begins here has no end"}},
		"a define block that is not closed": {Source{Helpers: "{{ define \"a\" }}{{ end }}\n{{ define \"b\" }}\n{{ if . }}\n"},
			[]string{"helpers:2:1: the block that begins here has no end", "helpers:3:1: the block that begins here has no end"}},
		"a block with other delimiters that is not closed": {Source{LeftDelim: "[[", RightDelim: "]]", Status: "x\n [[- if .spec ]]\n{{"},
			[]string{"status:2:2: the block that begins here has no end"}},
		"two letters of a function swapped": {Source{Status: "{{ quoet 1 }}{{ .sepc }}{{ foo 1 }}"},
			[]string{"status:1:4: unknown function quoet; did you mean quote?",
				"status:1:17: unknown name .sepc; did you mean .spec?; known: .children .controller .metadata .observed .parent .related .spec .status .values",
				"status:1:28: unknown function foo"}},
		"delimiters that are the same": {Source{LeftDelim: "%%", RightDelim: "%%", Status: "a: %% .spec %%"},
			[]string{"spec.delimiters: left and right delimiter are equal: set two different delimiters"}},
		"a left delimiter that is the right one": {Source{LeftDelim: "}}"},
			[]string{"spec.delimiters: left and right delimiter are equal: set two different delimiters"}},
		"an action that is not closed": {Source{Status: "{{ .spec"},
			[]string{"status:1:1: the action is not closed: its right delimiter is missing"}},
		"an action that is not closed on its line": {Source{Status: "a: {{ .x }}\nb: {{ .spec\n\n"},
			[]string{"status:2:4: the action is not closed: its right delimiter is missing"}},
		"an action that is not closed in a block": {Source{Status: "{{ if .x }}\n  {{ .y\n"},
			[]string{"status:2:3: the action is not closed: its right delimiter is missing"}},
		"an action that runs into the next one": {Source{Status: "{{ \"{{\" }}\nb: {{ .spec\nc: {{ .x }}\n"},
			[]string{"status:2:4: in line 2 of the action: expected :=; a right delimiter may be missing"}},
		"an action of several lines": {Source{Status: "a: {{ .x }} {{ list\n 1 2\n = }}\n{{ .y }}"},
			[]string{"status:1:13: in line 3 of the action: unexpected \"=\" in operand"}},
		"a comment that is not closed": {Source{Status: "a: {{ .x }} {{/* b\n{{ .y }}"},
			[]string{"status:1:13: unclosed comment"}},
		"one of very many actions of a line": {Source{Status: strings.Repeat("{{ .x }}", 100) + "{{ ) }}" + strings.Repeat("{{ .x }}", 100)},
			[]string{"status:1:801: unexpected right paren"}},
		"an action that swallows the next line": {Source{Status: "a: {{ .spec.a\nb: c"},
			[]string{"status:1:4: in line 2 of the action: expected :=; a right delimiter may be missing"}},
		"an end too many": {Source{Status: "a: b{{ end }}"},
			[]string{"status:1:5: unexpected end: no block is open here; remove it"}},
		"a variable that is not declared": {Source{Status: "{{ $x }}"},
			[]string{`status:1:1: undefined variable "$x"`}},
		"every mistake of every template, in order": {
			Source{Helpers: `{{ define "a" }}{{ foo }}{{ end }}`, Children: []Template{{Name: "x", Text: "{{ uper 1 }}\n  {{ .Values.a }}"}}, Status: "{{ now }}"},
			[]string{
				`helpers:1:20: unknown function foo`,
				`children[x]:1:4: unknown function uper; did you mean upper?`,
				`children[x]:2:6: unknown name .Values; did you mean .values?; known: .children .controller .metadata .observed .parent .related .spec .status .values`,
				`status:1:4: unsupported function now: ` + refused["now"].Refused,
			}},
		"a wrong number of arguments": {Source{Status: "{{ upper }}{{ upper 1 2 }}{{ 1 | default 2 3 }}{{ and }}{{ list | join }}"},
			[]string{"status:1:4: upper needs 1 argument, not 0", "status:1:15: upper needs 1 argument, not 2",
				"status:1:34: default needs 1 to 2 arguments, not 3", "status:1:51: and needs at least 1 argument, not 0",
				"status:1:67: join needs 2 arguments, not 1"}},
		"arguments for what is no function": {Source{Status: "{{ .spec.a 1 }}{{ 1 | .spec.b }}{{ (upper \"a\") 1 }}"},
			[]string{"status:1:4: .spec.a is not a function, so it cannot be given arguments",
				"status:1:23: .spec.b is not a function, so it cannot be given arguments",
				`status:1:36: upper "a" is not a function, so it cannot be given arguments`}},
		"children in a child's template": {Source{Children: []Template{{Name: "pods", Text: "{{ .children.pod }}{{ $.children }}"}}},
			[]string{"children[pods]:1:4: unknown name .children.pod; did you mean .children.pods?; known: .children.pods"}},
		"children in a helper that a child includes": {
			Source{Helpers: `{{ define "h" }}{{ .children.pod }}{{ end }}`, Children: []Template{{Name: "pods", Text: `{{ include "h" . }}`}}, Status: `{{ include "h" . }}`},
			[]string{"helpers:1:20: unknown name .children.pod; did you mean .children.pods?; known: .children.pods"}},
		"no related objects at all": {Source{Status: "{{ .related.x }}"},
			[]string{"status:1:4: unknown name .related.x; none are defined"}},
		"related objects that are not there": {Source{Related: []Template{{Name: "pods"}, {Name: "nodes"}}, Children: []Template{{Name: "a", Text: "{{ .related.pod }}{{ .related.nodes }}"}}},
			[]string{"children[a]:1:4: unknown name .related.pod; did you mean .related.pods?; known: .related.nodes .related.pods"}},
		"two related entries of one name": {Source{Related: []Template{{Name: "a"}, {Name: "a"}}},
			[]string{"related[a]: two entries of related are named a: use unique names"}},
		"fields that select templates cannot read": {Source{Related: []Template{{Name: "a", Text: "name: {{ .spec.a }}{{ .controller.name }}{{ .observed.x }}{{ $.related.a }}{{ .children }}{{ .x }}"}}},
			[]string{"related[a].select:1:45: .observed is not available in a select template, which can read only the parent: use .spec, .metadata, .status, .values or .controller",
				"related[a].select:1:62: .related is not available in a select template, which can read only the parent: use .spec, .metadata, .status, .values or .controller",
				"related[a].select:1:79: .children is not available in a select template, which can read only the parent: use .spec, .metadata, .status, .values or .controller",
				"related[a].select:1:94: unknown name .x; known: .controller .metadata .parent .spec .status .values"}},
		"a child that is not there": {Source{Children: []Template{{Name: "pods"}, {Name: "jobs"}}, Status: "{{ .children.pod }}{{ $.observed.x }}{{ .controller.names }}"},
			[]string{"status:1:4: unknown name .children.pod; did you mean .children.pods?; known: .children.jobs .children.pods",
				"status:1:23: unknown name .observed.x; known: .observed.jobs .observed.pods",
				"status:1:41: unknown name .controller.names; did you mean .controller.name?; known: .controller.name"}},
		"no children at all": {Source{Status: "{{ .children.pod }}"},
			[]string{"status:1:4: unknown name .children.pod; none are defined"}},
		"keys under with and range are not the root's": {Source{Status: "{{ with .spec }}{{ .Values }}{{ $.Values }}{{ end }}{{ range .spec }}{{ .x }}{{ else }}{{ .x }}{{ end }}"},
			[]string{"status:1:33: unknown name .Values; did you mean .values?; known: .children .controller .metadata .observed .parent .related .spec .status .values",
				"status:1:91: unknown name .x; known: .children .controller .metadata .observed .parent .related .spec .status .values"}},
		"a block that is not there": {Source{Helpers: `{{ define "labels" }}{{ end }}`, Status: `{{ include "label" . }}{{ template "x" }}`},
			[]string{`status:1:12: no define block named "label"; did you mean labels?`,
				`status:1:36: no define block named "x"`}},
		"a block of this template that is not there": {Source{Status: `{{ define "labels" }}{{ end }}{{ include "label" . }}`},
			[]string{`status:1:42: no define block named "label"; did you mean labels?`}},
		"a block with a function that is not closed": {Source{Status: "a:\n{{ if eq 1 1 }}\nb"},
			[]string{"status:2:1: the block that begins here has no end"}},
		"text between helpers": {Source{Helpers: `{{ define "a" }}{{ end }}` + "\n{{/* fine */}}\nb: c"},
			[]string{"helpers:2:15: helpers must contain only define blocks; other text is never rendered"}},
		"a block twice": {Source{Helpers: `{{ define "a" }}x{{ end }}`, Status: `{{ define "a" }}y{{ end }}`},
			[]string{`status:1:11: helpers already has a define block named "a"`}},
		"a discarded set": {Source{Status: `{{ $d := dict }}{{ $_ := set $d "a" 1 }}`},
			[]string{"status:1:26: set does not modify its argument, it returns a modified copy; write $x = set $x …"}},
		"a number that is too large": {Source{Status: `{{ 18446744073709551615 }}{{ 1i }}`},
			[]string{"status:1:4: the number 18446744073709551615 does not fit in 64 bits", "status:1:30: the number 1i does not fit in 64 bits"}},
		"nil alone": {Source{Status: `{{ nil }}`}, []string{"status:1:4: nil is not a command"}},
		"two children of one name": {Source{Children: []Template{{Name: "a"}, {Name: "a"}}},
			[]string{"children[a]: two child templates are named a: use unique names"}},
		"other delimiters": {Source{LeftDelim: "[[", RightDelim: "]]", Status: "a: {{ foo }} [[ foo ]]"},
			[]string{"status:1:17: unknown function foo"}},
		"nesting without end": {Source{Status: strings.Repeat("{{ if 1 }}", 300) + strings.Repeat("{{ end }}", 300)},
			[]string{"status:1:2001: blocks are nested more than 200 deep"}},
		"parentheses without end": {Source{Status: "{{ " + strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300) + " }}"},
			[]string{"status:1:204: parentheses are nested more than 200 deep"}},
		"a template that is too long": {Source{Status: strings.Repeat("#", 600<<10)},
			[]string{"status: the template is longer than 524288 bytes"}},
		"a column is counted in characters": {Source{Status: "é: {{ foo }}"}, []string{"status:1:7: unknown function foo"}},
	} {
		t.Run(why, func(t *testing.T) {
			wantFindings(t, c.src, c.want)
		})
	}
}

// testFunctions are enough to call in tests.
var testFunctions = map[string]*Function{}

func init() {
	for _, f := range []Function{
		{Name: "and", Min: 1, Max: -1}, {Name: "default", Min: 1, Max: 2}, {Name: "dict", Max: -1}, {Name: "eq", Min: 2, Max: -1}, {Name: "get", Min: 2, Max: 2}, {Name: "hello"}, {Name: "include", Min: 2, Max: 2}, {Name: "index", Min: 1, Max: -1}, {Name: "join", Min: 2, Max: 2}, {Name: "keys", Min: 1, Max: -1}, {Name: "len", Min: 1, Max: 1},
		{Name: "list", Max: -1}, {Name: "logs", Min: 1, Max: 1}, {Name: "quote", Min: 1, Max: -1}, {Name: "set", Min: 3, Max: 3}, {Name: "sha256sum", Min: 1, Max: 1}, {Name: "toJson", Min: 1, Max: 1}, {Name: "unset", Min: 2, Max: 2}, {Name: "upper", Min: 1, Max: 1},
	} {
		testFunctions[f.Name] = &f
	}
}

func wantFindings(t *testing.T, src Source, want []string) {
	t.Helper()
	src.Functions = testFunctions
	_, err := Parse(src)
	var got []string
	if list, ok := errors.AsType[Errors](err); ok {
		for _, e := range list {
			got = append(got, e.Error())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
