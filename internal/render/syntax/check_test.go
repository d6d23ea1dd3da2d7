package syntax

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/finding"
)

// TestFindings has mistakes at the edges of what is checked, and templates without any.
func TestFindings(t *testing.T) {
	const noX = "unknown name .x; known: .children .controller .metadata .observed .parent .related .spec .status .values"
	for why, c := range map[string]struct {
		src  Source
		want []string
	}{
		"an uncalled block":                            {Source{Status: `{{ define "x" }}{{ foo }}{{ end }}a: 1`}, []string{"status:1:20: unknown function foo"}},
		"the beginning of a name":                      {Source{Status: `a: {{ sha256 "x" }}`}, []string{"status:1:7: unknown function sha256; did you mean sha256sum?"}},
		"a mistake behind an include":                  {Source{Helpers: `{{ define "h" }}{{ end }}`, Status: "\n" + `{{ include "h" . }}{{ foo }}`}, []string{"status:2:23: unknown function foo"}},
		"a mistake in what template gets":              {Source{Status: `{{ define "x" }}{{ end }}{{ template "x" (foo) }}`}, []string{"status:1:43: unknown function foo"}},
		"a mistake in what with gets":                  {Source{Status: `{{ with .x }}{{ end }}`}, []string{"status:1:9: " + noX}},
		"with of the root":                             {Source{Status: `{{ with . }}{{ .x }}{{ end }}`}, []string{"status:1:16: " + noX}},
		"with of the dollar":                           {Source{Status: `{{ with $ }}{{ .x }}{{ end }}`}, []string{"status:1:16: " + noX}},
		"with on a result computed from the root":      {Source{Status: `{{ with . | keys }}{{ .x }}{{ end }}`}, nil},
		"with of a part of the dollar":                 {Source{Status: `{{ with $.spec }}{{ .x }}{{ end }}`}, nil},
		"with of a variable":                           {Source{Status: `{{ $y := .spec }}{{ with $y }}{{ .x }}{{ end }}`}, nil},
		"with of a dollar that is no root":             {Source{Status: `{{ define "x" }}{{ with $ }}{{ .x }}{{ end }}{{ end }}{{ template "x" .spec }}`}, nil},
		"with of a dot that is no root":                {Source{Status: `{{ with .spec }}{{ with . }}{{ .x }}{{ end }}{{ end }}`}, nil},
		"with of a dot that gets arguments":            {Source{Status: `{{ with . 1 }}{{ end }}`}, []string{"status:1:9: . is not a function, so it cannot be given arguments"}},
		"an include of the body":                       {Source{Status: `{{ include "" . }}`}, []string{`status:1:12: no define block named ""`}},
		"a helper that calls another's":                {Source{Helpers: `{{ define "h" }}{{ include "own" . }}{{ end }}`, Status: `{{ define "own" }}{{ end }}{{ include "h" . }}`}, []string{`helpers:1:28: no define block named "own"`}},
		"a helper that calls one further on":           {Source{Helpers: `{{ define "h" }}{{ include "own" . }}{{ end }}`, Status: `a`}, []string{`helpers:1:28: no define block named "own"`}},
		"include of nothing":                           {Source{Status: `{{ include }}`}, []string{"status:1:4: include needs 2 arguments, not 0"}},
		"include of a name alone":                      {Source{Status: `{{ include "x" }}`}, []string{"status:1:4: include needs 2 arguments, not 1", `status:1:12: no define block named "x"`}},
		"include of a piped value":                     {Source{Helpers: `{{ define "h" }}{{ .x }}{{ end }}`, Status: `{{ .spec | include "h" }}`}, nil},
		"include of the root and more":                 {Source{Helpers: `{{ define "h" }}{{ .x }}{{ end }}`, Status: `{{ 1 | include "h" . }}`}, []string{"status:1:8: include needs 2 arguments, not 3"}},
		"include of the root":                          {Source{Helpers: `{{ define "h" }}{{ .x }}{{ end }}`, Status: `{{ include "h" . }}`}, []string{"helpers:1:20: " + noX}},
		"template of the root":                         {Source{Helpers: `{{ define "h" }}{{ .x }}{{ end }}`, Status: `{{ template "h" . }}`}, []string{"helpers:1:20: " + noX}},
		"template of nothing":                          {Source{Helpers: `{{ define "h" }}{{ .x }}{{ end }}`, Status: `{{ template "h" }}`}, nil},
		"a function as an argument":                    {Source{Status: `{{ upper foo }}{{ upper hello }}`}, []string{"status:1:10: unknown function foo"}},
		"an underscore":                                {Source{Status: `{{ $_ := .spec }}{{ $_ := upper "a" }}{{ $_ := 5 | get (dict) | upper }}`}, nil},
		"an underscore behind a pipe":                  {Source{Status: `{{ $_ := "a" | unset .spec }}`}, []string{"status:1:16: unset does not modify its argument, it returns a modified copy; write $x = unset $x …"}},
		"a set that is kept":                           {Source{Status: `{{ $x := set (dict) "a" 1 }}{{ $x }}`}, nil},
		"a range with two variables":                   {Source{Status: `{{ range $_, $v := set (dict) "a" 1 }}{{ end }}`}, nil},
		"numbers that fit":                             {Source{Status: `{{ 9223372036854775807 }}{{ -9223372036854775808 }}{{ 1.5 }}{{ 0i }}{{ 'a' }}{{ 1e300 }}`}, nil},
		"numbers that do not":                          {Source{Status: `{{ 9223372036854775808 }}{{ 2i }}`}, []string{"status:1:4: the number 9223372036854775808 does not fit in 64 bits", "status:1:29: the number 2i does not fit in 64 bits"}},
		"text at both ends of helpers":                 {Source{Helpers: `a{{ define "x" }}{{ end }}b`}, []string{"helpers:1:1: helpers must contain only define blocks; other text is never rendered"}},
		"a template as long as may be":                 {Source{Status: strings.Repeat("#", maxTemplate)}, nil},
		"a template that is longer":                    {Source{Status: "{{ foo }}" + strings.Repeat("#", maxTemplate)}, []string{"status: the template is longer than 524288 bytes"}},
		"templates with syntax errors are not checked": {Source{Status: "{{ foo }}{{ if }}"}, []string{"status:1:10: missing value for if"}},
		"more unclosed blocks than the limit":          {Source{Status: strings.Repeat("{{ if 1 }}", mostUnclosed+1)}, []string{"status:1: " + missingEnd}},
		"blocks as deep as may be":                     {Source{Status: strings.Repeat("{{ if 1 }}", maxNesting-1) + strings.Repeat("{{ end }}", maxNesting-1)}, nil},
		"blocks that are deeper":                       {Source{Status: strings.Repeat("{{ if 1 }}", maxNesting) + strings.Repeat("{{ end }}", maxNesting)}, []string{"status:1:2001: blocks are nested more than 200 deep"}},
		"parentheses as deep as may be":                {Source{Status: "{{ " + strings.Repeat("(", maxNesting-1) + "1" + strings.Repeat(")", maxNesting-1) + " }}"}, nil},
		"the same mistake in both passes":              {Source{Helpers: `{{ define "h" }}{{ foo }}{{ end }}`, Status: `{{ include "h" . }}{{ include "h" 1 }}`}, []string{"helpers:1:20: unknown function foo"}},
		"a key of a variable of the root":              {Source{Status: `{{ define "x" }}{{ $.x }}{{ end }}{{ template "x" .spec }}{{ $.x }}`}, []string{"status:1:62: " + noX}},
		"the name of the controller":                   {Source{Status: `{{ .controller.name }}{{ .controller }}{{ .metadata.x }}`}, nil},
	} {
		t.Run(why, func(t *testing.T) {
			wantFindings(t, c.src, c.want)
		})
	}
}

// TestFindingsAreLimited makes mistakes by the thousand.
func TestFindingsAreLimited(t *testing.T) {
	_, err := Parse(Source{Status: strings.Repeat("{{ foo }}", 50_000)})
	list, _ := errors.AsType[Errors](err)
	if len(list) != maxFindings+1 || list[maxFindings-1].Code != finding.UnknownFunction || list[maxFindings].Finding() != finding.More() {
		t.Errorf("got %d findings, the last is %v", len(list), list[len(list)-1])
	}
}

// TestNestedDefinitionsAreCheckedOnce would not end if each use were checked anew: there are 2^60 of them.
func TestNestedDefinitionsAreCheckedOnce(t *testing.T) {
	var helpers strings.Builder
	fmt.Fprint(&helpers, `{{ define "t0" }}x{{ end }}`)
	for i := range 60 {
		fmt.Fprintf(&helpers, `{{ define "t%d" }}{{ template "t%d" . }}{{ template "t%d" . }}{{ end }}`, i+1, i, i)
	}
	if _, err := Parse(Source{Helpers: helpers.String(), Status: `a: {{ template "t60" . }}`}); err != nil {
		t.Error(err)
	}
}
