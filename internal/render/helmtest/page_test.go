package helmtest

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

var update = flag.Bool("update", false, "write the generated parts of docs/concepts/helm.md")

const (
	begin = "<!-- functions:begin, written by go test -update in internal/render/helmtest -->\n"
	end   = "<!-- functions:end -->\n"
)

func TestPageListsEveryFunction(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, foundBegin := strings.Cut(string(text), begin)
	got, tail, foundEnd := strings.Cut(rest, end)
	if !foundBegin || !foundEnd {
		t.Fatalf("%s lacks the marks %q and %q", page, begin, end)
	}
	want := functionTables()
	if *update {
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("run go test -update in internal/render/helmtest: %s is stale:\n%s", page, diff)
	}
}

func TestPageSaysHowManySnippetsThereAre(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, snippets := range load(t) {
		count += len(snippets)
	}
	if phrase := fmt.Sprintf("%d snippets", count); !strings.Contains(string(text), phrase) {
		t.Errorf("%s does not say %q", page, phrase)
	}
}

// functionTables returns a table for each source of functions, and one of
// those that are refused.
func functionTables() string {
	var out strings.Builder
	for _, source := range []struct{ name, title string }{
		{"templater", "Functions of templater, and those that Helm adds to sprig"},
		{"sprig", "Functions of sprig"},
		{"text/template", "Functions of Go templates"},
	} {
		fmt.Fprintf(&out, "\n### %s\n\n| Function | Yields |\n|---|---|\n", source.title)
		writeRows(&out, functions(func(f syntax.Function) bool { return f.Refused == "" && f.Source == source.name }))
	}
	out.WriteString("\n### Functions that are not there\n\n| Function | Why, and what to use |\n|---|---|\n")
	writeRows(&out, functions(func(f syntax.Function) bool { return f.Refused != "" }))
	out.WriteString("\n### Functions that take a missing value\n\nAll others refuse one: ")
	var names []string
	for _, f := range functions(func(f syntax.Function) bool { return f.Refused == "" && f.Nil }) {
		names = append(names, "`"+f.Name+"`")
	}
	out.WriteString(strings.Join(names, " ") + "\n")
	return out.String()
}

// writeRows writes a row for each text about functions, with all names that it is about.
func writeRows(out *strings.Builder, all []syntax.Function) {
	names := map[string]string{}
	var texts []string
	for _, f := range all {
		text := cmp.Or(f.Refused, f.Doc)
		if names[text] == "" {
			texts = append(texts, text)
		}
		names[text] += "`" + f.Name + "` "
	}
	for _, text := range texts {
		fmt.Fprintf(out, "| %s| %s |\n", names[text], cell(text))
	}
}

func functions(keep func(syntax.Function) bool) []syntax.Function {
	return slices.DeleteFunc(funcs.All(), func(f syntax.Function) bool { return !keep(f) })
}

// cell escapes text for a cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
