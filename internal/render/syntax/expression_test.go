package syntax

import "testing"

func TestInvalidExpressionsAreRejected(t *testing.T) {
	const none = "must be a single expression without delimiters, if, range or define, such as " + sample
	for text, want := range map[string]string{
		"":                                      "children[db].readyWhen: the expression is empty: remove the field, or write an expression such as " + sample,
		" \n":                                   "children[db].readyWhen: the expression is empty: remove the field, or write an expression such as " + sample,
		"{{ eq .object.a 1 }}":                  "children[db].readyWhen:1:1: " + none,
		"/* eq .object.a 1 */":                  "children[db].readyWhen:1:1: unexpected \"/\" in command",
		"if .object.a":                          "children[db].readyWhen:1:1: " + none,
		"range .object.a":                       "children[db].readyWhen:1:1: " + none,
		`template "x"`:                          "children[db].readyWhen:1:10: no define block named \"x\"",
		`template "h"`:                          "children[db].readyWhen:1:1: " + none,
		"end":                                   "children[db].readyWhen:1:1: unexpected end: no block is open here; remove it",
		"$x := true":                            "children[db].readyWhen:1:1: " + none,
		"true }}{{ true":                        "children[db].readyWhen:1:1: " + none,
		"true }}":                               "children[db].readyWhen:1:1: " + none,
		"true }}{{/* ":                          "children[db].readyWhen:1:1: unclosed comment",
		"eq .object.a (":                        "children[db].readyWhen:1:1: unclosed left paren",
		"eq .object.a |":                        "children[db].readyWhen:1:1: eq needs at least 2 arguments, not 1",
		"eq .object.a 'x":                       "children[db].readyWhen:1:14: text has double quotes",
		"and .object.a\n  (eq .object.b 'x":     "children[db].readyWhen:2:17: text has double quotes",
		"and .object.a\n  (eq .object.b 1\n\n":  "children[db].readyWhen:2:3: unclosed left paren",
		"true\n  | and /* é */ .object.a":       "children[db].readyWhen:2:3: unexpected \"/\" in operand",
		"and .object.a\n  .object.b &":          "children[db].readyWhen:2:13: unexpected \"&\" in operand",
		"and .object.a\n  é .object.b == 1":     "children[db].readyWhen:2:15: templates have no operators: write eq A B",
		"$y":                                    "children[db].readyWhen:1:1: undefined variable \"$y\"",
		"eq .objct.a 1":                         "children[db].readyWhen:1:4: unknown name .objct; did you mean .object?; known: .children .controller .metadata .object .observed .parent .related .spec .status .values",
		"and true\n  (eqq .object.a .spec.b)":   "children[db].readyWhen:2:4: unknown function eqq; did you mean eq?",
		"eq .children.bd 1":                     "children[db].readyWhen:1:4: unknown name .children.bd; known: .children.db",
		`eq "é" .Values`:                        "children[db].readyWhen:1:8: unknown name .Values; did you mean .values?; known: .children .controller .metadata .object .observed .parent .related .spec .status .values",
		"now":                                   "children[db].readyWhen:1:1: unsupported function now: " + refused["now"].Refused,
		`include "h" .`:                         "",
		`eq .object.status.phase "}} Bound {{"`: "",
		"and\n true\n .object.a":                "",
		"true":                                  "",
	} {
		src := Source{Helpers: `{{ define "h" }}{{ .object }}{{ end }}`, Children: []Template{{"db", "a"}}, ReadyWhen: []Template{{"db", text}}}
		var findings []string
		if want != "" {
			findings = []string{want}
		}
		wantFindings(t, src, findings)
	}
}

func TestExpressionsWithCustomDelimiters(t *testing.T) {
	src := Source{LeftDelim: "<%%", RightDelim: "%%>", Children: []Template{{"db", "a"}}, ReadyWhen: []Template{{"db", "eq .a 1"}}}
	wantFindings(t, src, []string{"children[db].readyWhen:1:4: unknown name .a; known: .children .controller .metadata .object .observed .parent .related .spec .status .values"})
}

func TestObjectIsAvailableInReadyWhenOnly(t *testing.T) {
	src := Source{Helpers: `{{ define "h" }}{{ .object }}{{ end }}`, Children: []Template{{"db", `{{ include "h" . }}`}}, ReadyWhen: []Template{{"db", `include "h" .`}}, Status: "a: {{ .object.a }}"}
	const why = ": .object is only available in readyWhen, where it is the object that is evaluated; use .observed.NAME"
	wantFindings(t, src, []string{"helpers:1:20" + why, "status:1:7" + why})
}
