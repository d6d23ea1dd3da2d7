package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/render/finding"
)

// TestCaretsMarkPositions marks places in lines.
func TestCaretsMarkPositions(t *testing.T) {
	long := strings.Repeat("a", 200) + "HERE" + strings.Repeat("b", 200)
	for why, row := range map[string]struct {
		line           string
		column, length int
		replacement    string
		shown, marks   string
	}{
		"a word":                  {"a: {{ quoet }}", 7, 5, "quote", "a: {{ quoet }}", "      ^^^^^ quote"},
		"a place without length":  {"a: b", 4, 0, "", "a: b", "   ^"},
		"a line":                  {"  a: b \r\n", 0, 0, "", "  a: b", "  ^^^^"},
		"behind the line":         {"ab", 9, 3, "", "ab", "  ^"},
		"further than the line":   {"ab", 2, 9, "", "ab", " ^"},
		"an empty line":           {"", 0, 0, "", "", "^"},
		"tabs":                    {"\ta:\tb", 5, 1, "", "\ta:\tb", "\t  \t^"},
		"letters of more bytes":   {"é: ü", 4, 1, "", "é: ü", "   ^"},
		"control characters":      {"a\x1b[31mb\u202ec", 8, 1, "\x1b", "a\ufffd[31mb\ufffdc", "       ^ \ufffd"},
		"a long line":             {long, 201, 4, "x", "…" + strings.Repeat("a", 52) + "HERE" + strings.Repeat("b", 102) + "…", strings.Repeat(" ", 53) + "^^^^ x"},
		"the begin of a long one": {long, 1, 4, "", strings.Repeat("a", 159) + "…", "^^^^"},
		"the end of a long one":   {long, 404, 4, "", "…" + strings.Repeat("b", 159), strings.Repeat(" ", 159) + "^"},
	} {
		shown, marks := Caret(row.line, row.column, row.length, row.replacement)
		if diff := cmp.Diff([]string{row.shown, row.marks}, []string{shown, marks}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
	}
}

// source is a file whose templates begin in line 10, behind four spaces.
type source []string

func (s source) Place(_ string, line, column int) (string, int, int) {
	if line == 0 {
		return "dir/a file.yaml", 2, 3
	}
	return "dir/a file.yaml", 9 + line, 4 + column
}

func (s source) SourceLine(line int) string {
	if line == 2 {
		return "  resyncPeriod: 1d"
	}
	return "    {{ quoet 1 }}"
}

func findings() []finding.Finding {
	return []finding.Finding{
		{Code: finding.UnknownFunction, Severity: finding.Error, Where: "status", Line: 1, Column: 4, Length: 5, Message: "unknown function <quoet>", Replacement: "quote"},
		{Code: finding.Syntax, Severity: finding.Error, Where: "status", Line: 2, Message: "odd"},
		{Code: finding.Optional, Severity: finding.Warning, Where: "spec.resyncPeriod", Message: "short"},
	}
}

// marks shows what is painted how.
var marks = strings.NewReplacer("\x1b[31m", "<r ", "\x1b[33m", "<y ", "\x1b[36m", "<c ", "\x1b[1m", "<b ", "\x1b[2m", "<f ", "\x1b[0m", ">")

func TestTextShowsLinesAndSuggestions(t *testing.T) {
	all := Locate("web", source(nil), findings())
	Sort(all)
	all = append(all, Located{Finding: finding.Finding{Code: "TL001", Severity: finding.Error, Message: "b"}, File: "-"})
	var out bytes.Buffer
	if err := Text(&out, Colors{On: true}, all, Summarize(2, all, []string{"App of a/v1"})); err != nil {
		t.Fatal(err)
	}
	const want = `<b dir/a file.yaml:2:3:> <y warning:> short <f [TL039]>
<f     2 |>   resyncPeriod: 1d
<f       |> <y   ^^^^^^^^^^^^>
<b dir/a file.yaml:10:8:> <r error:> unknown function <quoet> <f [TL003]>
<f    10 |>     {{ quoet 1 }}
<f       |> <r        ^^^^^ quote>
<b dir/a file.yaml:11:> <r error:> odd <f [TL001]>
<f    11 |>     {{ quoet 1 }}
<f       |> <r     ^^^^^^^^^^^^^>
<b standard input:> <r error:> b <f [TL001]>
<c note:> no schema for App of a/v1: its fields were not checked; pass its CustomResourceDefinition with --schemas, or use --cluster
2 TemplateControllers: 3 errors and 1 warning
`
	if diff := cmp.Diff(want, marks.Replace(out.String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSARIFOutput has what the schema of SARIF 2.1.0 requires, and what it says of numbers.
func TestSARIFOutput(t *testing.T) {
	all := Locate("web", source(nil), findings())
	all = append(all, Located{TemplateController: "b", Finding: finding.Finding{Code: "TL001", Severity: finding.Error, Where: "helpers", Message: "b"}, File: "-"},
		Located{Finding: finding.Finding{Code: "TL001", Severity: finding.Error, Message: "b"}, File: "/a/b.yaml", FileLine: 1})
	var out bytes.Buffer
	if err := SARIF(&out, all); err != nil {
		t.Fatal(err)
	}
	var log map[string]any
	if err := json.Unmarshal(out.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	at := func(v any, path ...any) any {
		for _, step := range path {
			switch step := step.(type) {
			case string:
				v = v.(map[string]any)[step]
			case int:
				v = v.([]any)[step]
			}
		}
		return v
	}
	if log["version"] != "2.1.0" || len(at(log, "runs").([]any)) != 1 || at(log, "runs", 0, "tool", "driver", "name") != "templater" {
		t.Errorf("got %v", log)
	}
	rules := at(log, "runs", 0, "tool", "driver", "rules").([]any)
	ids := map[any]bool{}
	for _, rule := range rules {
		if id := at(rule, "id"); id == "" || ids[id] || at(rule, "shortDescription", "text") == "" || !strings.HasPrefix(at(rule, "helpUri").(string), "https://") {
			t.Errorf("got the rule %v", rule)
		}
		ids[at(rule, "id")] = true
	}
	var got []any
	for _, result := range at(log, "runs", 0, "results").([]any) {
		index := int(at(result, "ruleIndex").(float64))
		if at(rules[index], "id") != at(result, "ruleId") || at(result, "message", "text") == "" {
			t.Errorf("got the result %v", result)
		}
		place := at(result, "locations", 0, "physicalLocation")
		got = append(got, at(result, "level"), at(place, "artifactLocation", "uri"), at(place, "region"), at(result, "locations", 0, "logicalLocations", 0, "fullyQualifiedName"))
	}
	const uri = "dir/a%20file.yaml"
	want := []any{
		"error", uri, map[string]any{"startLine": 10.0, "startColumn": 8.0, "endColumn": 13.0}, "web/status",
		"error", uri, map[string]any{"startLine": 11.0}, "web/status",
		"warning", uri, map[string]any{"startLine": 2.0, "startColumn": 3.0, "endColumn": 15.0}, "web/spec.resyncPeriod",
		"error", "stdin", nil, "b/helpers",
		"error", "file:///a/b.yaml", map[string]any{"startLine": 1.0}, "/",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	fix := at(log, "runs", 0, "results", 0, "fixes", 0)
	if at(fix, "artifactChanges", 0, "replacements", 0, "insertedContent", "text") != "quote" || at(fix, "artifactChanges", 0, "replacements", 0, "deletedRegion", "endColumn") != 13.0 {
		t.Errorf("got the fix %v", fix)
	}
	if at(log, "runs", 0, "results", 1, "fixes") != nil {
		t.Error("unexpected fix for an ambiguous finding")
	}
}

func TestFileURIs(t *testing.T) {
	for _, row := range []struct {
		path  string
		whole bool
		want  string
	}{
		{"dir/a file.yaml", false, "dir/a%20file.yaml"},
		{"/a/b.yaml", true, "file:///a/b.yaml"},
		{"C:/a/b.yaml", true, "file:///C:/a/b.yaml"}, // of Windows
	} {
		if got := address(row.path, row.whole); got != row.want {
			t.Errorf("%s: got %s, want %s", row.path, got, row.want)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriteErrorsAreReturned(t *testing.T) {
	for why, err := range map[string]error{
		"text": Text(full{}, Colors{}, nil, Summary{}), "JSON": JSON(full{}, nil, Summary{}), "SARIF": SARIF(full{}, nil),
	} {
		if err == nil {
			t.Errorf("%s: no error", why)
		}
	}
}
