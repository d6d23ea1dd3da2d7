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

var update = flag.Bool("update", false, "write the generated part of docs/reference/functions.md")

// functionsPage is the page that lists all functions.
const functionsPage = "../../../docs/reference/functions.md"

const (
	begin = "<!-- functions:begin, written by go test -update in internal/render/helmtest -->\n"
	end   = "<!-- functions:end -->\n"
)

func TestDocumentationListsEveryFunction(t *testing.T) {
	text, err := os.ReadFile(functionsPage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, foundBegin := strings.Cut(string(text), begin)
	got, tail, foundEnd := strings.Cut(rest, end)
	if !foundBegin || !foundEnd {
		t.Fatalf("%s lacks the marks %q and %q", functionsPage, begin, end)
	}
	want := functionTables()
	if *update {
		if err := os.WriteFile(functionsPage, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("run go test -update in internal/render/helmtest: %s is stale:\n%s", functionsPage, diff)
	}
}

func TestDocumentationHasSnippetCount(t *testing.T) {
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

// functionTables returns the functions of each source, those that are unavailable, and those that
// accept a missing value.
func functionTables() string {
	of := func(source string) []syntax.Function {
		return functions(func(f syntax.Function) bool { return f.Refused == "" && f.Source == source })
	}
	var out strings.Builder
	out.WriteString("\n## Functions of templater and Helm\n\n| Function | Result |\n|---|---|\n")
	writeRows(&out, of("templater"))
	out.WriteString("\n## Functions of sprig\n\n")
	writeNames(&out, of("sprig"))
	out.WriteString("\n## Functions of Go templates\n\n")
	writeNames(&out, of("text/template"))
	out.WriteString("\n## Unavailable functions\n\n| Function | Why, and what to use |\n|---|---|\n")
	writeRows(&out, functions(func(f syntax.Function) bool { return f.Refused != "" }))
	out.WriteString("\n## Missing arguments\n\nOnly these functions accept a missing value as an argument:\n\n")
	writeNames(&out, functions(func(f syntax.Function) bool { return f.Refused == "" && f.Nil }))
	return out.String()
}

// writeNames writes the function names on one line.
func writeNames(out *strings.Builder, all []syntax.Function) {
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = "`" + f.Name + "`"
	}
	out.WriteString(strings.Join(names, " ") + "\n")
}

// writeRows writes a row for each distinct description, with the names of all functions that share it.
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

// cell escapes text for a Markdown table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
