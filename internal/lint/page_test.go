package lint

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/render/finding"
)

var update = flag.Bool("update", false, "write docs/reference/findings.md: make generate does")

// unshown are the codes whose examples would be too long, or take more than a file, and why.
var unshown = map[finding.Code]string{
	finding.TooMuch:        "it takes half a MiB of text",
	finding.NotShown:       "it takes more findings than anybody reads",
	finding.ServiceAccount: "it takes an operator with a flag",
	finding.TooMany:        "it takes an operator with many of them",
}

const intro = `# Findings

For authors: every mistake that templater finds in a TemplateController, with an example and what to write instead.

Each mistake in a TemplateController has a code. The meaning of a code never changes. [` + "`templater lint`" + `](commands/lint.md) finds mistakes in files. The operator finds them in the
cluster: errors are in the ` + "`Accepted`" + ` condition of the TemplateController, warnings in ` + "`Linted`" + `.

An error means that rendering always fails, or fails whenever it reaches the expression. TL030–TL036 are warnings if the expression is in a branch, or after ` + "`and`/`or`" + `, whose condition depends on the object.
Branches that can never be taken are not checked. The table shows the highest severity.

A comment in the same line, or above it, suppresses a warning: ` + "`# templater:ignore TL039 admission sets the size`" + `, or ` + "`{{/* templater:ignore TL039 admission sets the size */}}`" + `. The reason is required.
Comments in templates also apply to ` + "`Linted`" + `.

`

// TestFindingsPageIsCurrent compares docs/reference/findings.md with the rules, and with what is found in their examples.
func TestFindingsPageIsCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString("| Code | | What is wrong |\n|---|---|---|\n")
	for _, r := range finding.Rules() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.Code, strings.ToLower(string(r.Code)), r.Severity, r.Title)
	}
	for _, r := range finding.Rules() {
		fmt.Fprintf(&b, "\n## %s\n\n**%s** (%s). %s\n\n%s\n", r.Code, r.Title, r.Severity, r.Why, r.Fix)
		if unshown[r.Code] == "" {
			example, shown := example(t, r.Code)
			fmt.Fprintf(&b, "\n```yaml\n%s```\n\n```\n%s```\n", example, shown)
		}
	}
	const file = "../../docs/reference/findings.md"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	now, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(now), b.String()); diff != "" {
		t.Errorf("docs/reference/findings.md: run make generate (-page +rules):\n%s", diff)
	}
}

// example returns the TemplateController that shows a code, and what is said of it.
func example(t *testing.T, code finding.Code) (text, shown string) {
	t.Helper()
	whole, err := os.ReadFile(filepath.Join("testdata", "findings", string(code)+".yaml"))
	if err != nil {
		t.Errorf("%s has no example: %v", code, err)
		return "", ""
	}
	set, faults := manifest.LoadAll([]string{manifest.Stdin}, bytes.NewReader(whole))
	known := LoadReadableSchemas(set)
	known.AddUnreadable(faults...)
	all, _ := known.Check(set)
	var about []report.Located
	for _, l := range all {
		if l.Code != code {
			t.Errorf("the example of %s has something else: %s", code, l.Finding)
			continue
		}
		l.File = "app.yaml"
		about = append(about, l)
	}
	if len(about) == 0 {
		t.Errorf("the example of %s does not show it", code)
	}
	var out bytes.Buffer
	if err := report.Text(&out, report.Colors{}, about, report.Summary{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(out.String(), "\n"), "\n")
	text, _, _ = strings.Cut(string(whole), "---\n")
	return text, strings.Join(lines[:len(lines)-1], "")
}
