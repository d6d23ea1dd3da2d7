package syntax

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/templater-dev/templater/internal/render/finding"
)

// TestErrorsConvertToFindings has what editors need to mark a place, and to mend it.
func TestErrorsConvertToFindings(t *testing.T) {
	at := func(code finding.Code, line, column, length int, replacement string) finding.Finding {
		return finding.Finding{Code: code, Severity: finding.Error, Where: "status", Line: line, Column: column, Length: length, Replacement: replacement}
	}
	for status, want := range map[string]finding.Finding{
		`é: {{ quoet 1 }}`:          at(finding.UnknownFunction, 1, 7, 5, "quote"),
		`{{ foo }}`:                 at(finding.UnknownFunction, 1, 4, 3, ""),
		`{{ now | quote }}`:         at(finding.RefusedFunction, 1, 4, 3, ""),
		`a: {{ logs .spec }}`:       at(finding.NoLogs, 1, 7, 4, ""),
		`{{(upper)}}`:               at(finding.ArgumentCount, 1, 4, 5, ""),
		`{{ .Values.a }}`:           at(finding.UnknownRoot, 1, 4, 7, ".values"),
		`{{ $.Values.a }}`:          at(finding.UnknownRoot, 1, 4, 8, "$.values"),
		`{{ .x }}`:                  at(finding.UnknownRoot, 1, 4, 2, ""),
		`{{ len .children.pod.x }}`: at(finding.UnknownRoot, 1, 8, 13, ".children.pods"),
		`{{ $.controller.nam }}`:    at(finding.UnknownRoot, 1, 4, 16, "$.controller.name"),
		`{{ .object.x }}`:           at(finding.UnknownRoot, 1, 4, 7, ""),
		`{{ define "labels" }}{{ end }}{{ include "label" . }}`:  at(finding.UnknownDefinition, 1, 42, 7, `"labels"`),
		`{{ define "labels" }}{{ end }}{{ template "labels2" }}`: at(finding.UnknownDefinition, 1, 43, 9, `"labels"`),
		"{{ include `x` . }}":        at(finding.UnknownDefinition, 1, 12, 3, ""),
		`{{ 18446744073709551615 }}`: at(finding.NumberTooLarge, 1, 4, 20, ""),
		`{{ .spec.a 1 }}`:            at(finding.NotAFunction, 1, 4, 7, ""),
		`{{ nil }}`:                  at(finding.NotAFunction, 1, 4, 3, ""),
		`{{ $_ := set dict "a" 1 }}`: at(finding.DiscardedCopy, 1, 10, 3, ""),
		"a\n {{ if .spec }}b\n":      at(finding.UnclosedBlock, 2, 2, 14, ""),
		"{{ if .spec\n}}b":           at(finding.UnclosedBlock, 1, 1, 11, ""),
		`{{ if }}`:                   at(finding.Syntax, 1, 1, 0, ""),
		`{{ .spec`:                   at(finding.Syntax, 1, 1, 0, ""),
	} {
		_, err := Parse(Source{Status: status, Children: []Template{{Name: "pods"}}, Functions: testFunctions})
		var got []finding.Finding
		list, _ := errors.AsType[Errors](err)
		for _, e := range list {
			got = append(got, e.Finding())
		}
		if diff := cmp.Diff([]finding.Finding{want}, got, cmpopts.IgnoreFields(finding.Finding{}, "Message")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", status, diff)
		}
	}
}

// TestErrorsHaveKnownCodes finds the rule of each error that templates can have without data.
func TestErrorsHaveKnownCodes(t *testing.T) {
	for why, src := range map[string]Source{
		"the same delimiters": {LeftDelim: "%", RightDelim: "%"},
		"helpers with text":   {Helpers: "a"},
		"a second definition": {Helpers: `{{ define "a" }}x{{ end }}`, Status: `{{ define "a" }}x{{ end }}`},
		"no expression":       {ReadyWhen: []Template{{"a", "{{ 1 }}"}, {"b", " "}, {"c", "if 1"}, {"d", "$x := 1"}}},
		"too long":            {Status: string(make([]byte, maxTemplate+1))},
		"two children":        {Children: []Template{{"a", ""}, {"a", ""}}},
		"two entries":         {Related: []Template{{"a", ""}, {"a", ""}}},
		"unclosed blocks":     {Status: "{{ if 1 }}{{ if 1 }}{{ if 1 }}{{ if 1 }}{{ if 1 }}{{ if 1 }}{{ if 1 }}{{ if 1 }}{{ if 1 }}{{ if 1 }}{{ if 1 }}{{ if 1 }}"},
	} {
		_, err := Parse(src)
		list, _ := errors.AsType[Errors](err)
		if len(list) == 0 {
			t.Errorf("%s: no error", why)
		}
		for _, e := range list {
			if _, known := finding.Lookup(e.Code); !known {
				t.Errorf("%s: the code is %q: %s", why, e.Code, e)
			}
		}
	}
}
