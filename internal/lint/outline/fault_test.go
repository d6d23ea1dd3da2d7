package outline

import (
	"fmt"
	"strings"
	"testing"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// unitOf parses a template.
func unitOf(t *testing.T, text string) *syntax.Unit {
	t.Helper()
	functions := map[string]*syntax.Function{}
	for _, name := range []string{"fail", "include", "nindent", "lines", "value", "scalar", "double", "single"} {
		functions[name] = &syntax.Function{Name: name, Max: -1}
	}
	all, err := syntax.Parse(syntax.Source{Status: text, Functions: functions, Helpers: `{{ define "x" }}{{ end }}`})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return all.Status
}

// byName says what an action prints by the name of its last function.
func byName(n *parse.ActionNode) Printed {
	name, ok := n.Pipe.Cmds[len(n.Pipe.Cmds)-1].Args[0].(*parse.IdentifierNode)
	if !ok {
		return Anything
	}
	known := map[string]Printed{"value": Value, "scalar": Scalar, "double": DoubleQuoted, "single": SingleQuoted}
	return known[name.Ident]
}

// TestWhatIsCertain has templates that are YAML up to the place of X, which is where they are none.
func TestWhatIsCertain(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\n  Xb: 2":                                                                        "certain",
		"a: {{ scalar }}\n  Xb: 2\n":                                                           "certain",
		"a: {{ scalar }}-{{ scalar }}\n  Xb: 2\n":                                              "certain",
		"a: {{ double }}\nb: {{ single }} Xd\nc:":                                              "certain",
		"a: {{ value }}\n  Xb: 2\n":                                                            "certain", // a map or a list is none here, either
		"- {{ value }} # c\n- a: bX: c\n":                                                      "certain",
		"a: {{ value }}-b\nc: dX: e\n":                                                         "likely", // of a map it is none before
		"a: {{ .spec }}\nc: dX: e\n":                                                           "likely",
		"a: {{ lines }}\nc: dX: e\n":                                                           "likely",
		"a:\n  {{ lines | nindent 2 }}\nc: dX: e\n":                                            "likely",
		"a:\n{{ lines | nindent 2 }}\n    c: d: e\n":                                           "", // deeper than what is printed
		"{{ lines }}\n  c: d: e\n":                                                             "",
		"{{ lines }}: b: c\n":                                                                  "",
		"a: b: {{ lines }}\n":                                                                  "likely at 1:5",
		"{{ if .spec }}\na: 1\n{{ end }}\nb: cX: d\n":                                          "likely",
		"{{ if .spec }}\na: bX: c\n{{ end }}\n":                                                "likely",
		"{{ if .spec }}\na: 1\n{{ else }}\na: bX: c\n{{ end }}\n":                              "likely",
		"{{ if .spec }}a: b: c{{ end }}\n":                                                     "", // its line has a branch
		"{{ if .spec }}\na: [\n{{ else }}\na: [ 1,\n{{ end }}\n]\nb: 1":                        "",
		"{{ if .spec }}\na: [\n{{ end }}\n{{ if .status }}\na: [\n{{ end }}\n]":                "",
		"{{ if .spec }}{{ fail }}{{ end }}\na: bX: c\n":                                        "certain",
		"{{ if .spec }}a: [{{ fail }}{{ end }}\nb: 1\n":                                        "",
		"{{ if .spec }}{{ $y := 1 }}{{ end }}\na: bX: c\n":                                     "certain",
		"a: [\n{{ range $i, $v := .spec }}\n{{ if $i }}\n,\n{{ end }}\n{{ $v }}\n{{ end }}\n]": "",
		"a: [\n1,\n{{ lines }}\n2\n]":                                                          "",
		"b: {{ lines }}\na: X[1\n2\nc: 1":                                                      "likely",
		"{{ range .spec }}\n- a: bX: c\n{{ end }}\n":                                           "likely",
		"{{ range .spec }}\n{{ break }}\na: b: c\n{{ end }}\n":                                 "",
		"{{ template \"x\" . }}\na: bX: c\n":                                                   "likely",
		"\ue0f3: [":                                                                            "", // nobody could tell it from what is printed
		strings.Repeat("a: b\n", 30_000) + "a: b: c":                                           "", // too long
	} {
		place := strings.Index(text, "X")
		faults := new(Finder).Faults(unitOf(t, strings.Replace(text, "X", "", 1)), byName)
		got := ""
		for _, f := range faults {
			got = map[bool]string{true: "certain", false: "likely"}[f.Certain]
			if f.Offset != place && (place >= 0 || f.Message == "") {
				got += fmt.Sprintf(" at %d, not %d", f.Offset, place)
			}
		}
		if want = strings.TrimSuffix(want, " at 1:5"); got != want {
			t.Errorf("%.80q: %q, want %q", text, got, want)
		}
	}
}
