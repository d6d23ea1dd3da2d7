package howto

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of lines in coming-from")

// comingFrom is the folder of the recipes that were something else before. Each has that in its folder before.
const comingFrom = "coming-from"

// migrations returns the folders of these recipes.
func migrations(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, recipe := range recipes(t) {
		if strings.HasPrefix(recipe, comingFrom+string(filepath.Separator)) {
			all = append(all, recipe)
		}
	}
	if len(all) == 0 {
		t.Fatal("there are none")
	}
	return all
}

// count is how many lines a file has, but for blank ones and those that hold nothing but a comment.
type count struct {
	file  string
	lines int
}

var comments = map[string]string{".go": "//", ".py": "#", ".yaml": "#", ".tpl": "#", "": "#"}

func countLines(t *testing.T, file string) int {
	t.Helper()
	comment, known := comments[filepath.Ext(file)]
	if !known {
		t.Fatalf("%s: tell in comments how a comment begins", file)
	}
	lines := 0
	for line := range strings.Lines(read(t, file)) {
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, comment) {
			lines++
		}
	}
	return lines
}

// definesKind matches what makes the CustomResourceDefinition by itself.
var definesKind = regexp.MustCompile(`(?m)^kind: (ResourceGraphDefinition|CompositeResourceDefinition)$`)

// compare counts what an author wrote before, and writes here. The definition of the kind counts where it was among what was
// written before; else it is the same on both sides.
func compare(t *testing.T, recipe string) (before, here []count) {
	t.Helper()
	here = []count{{file: "templatecontroller.yaml"}}
	err := filepath.WalkDir(filepath.Join(recipe, "before"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := filepath.Rel(recipe, path)
		before = append(before, count{filepath.ToSlash(file), countLines(t, path)})
		if _, err := os.Stat(filepath.Join(recipe, "crd.yaml")); err == nil && definesKind.MatchString(read(t, path)) {
			here = append([]count{{file: "crd.yaml"}}, here...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range here {
		here[i].lines = countLines(t, filepath.Join(recipe, here[i].file))
	}
	return before, here
}

func total(counts []count) int {
	sum := 0
	for _, c := range counts {
		sum += c.lines
	}
	return sum
}

// TestLineCountTablesAreCurrent holds the tables of lines to the files. With -update it writes them.
func TestLineCountTablesAreCurrent(t *testing.T) {
	summary := "| Example | Lines before | Lines here |\n|---|---:|---:|\n"
	for _, recipe := range migrations(t) {
		before, here := compare(t, recipe)
		table := "| File | Lines |\n|---|---:|\n"
		for _, side := range []struct {
			name   string
			counts []count
		}{{"Before", before}, {"Here", here}} {
			for _, c := range side.counts {
				table += fmt.Sprintf("| [%s](%s) | %d |\n", c.file, c.file, c.lines)
			}
			table += fmt.Sprintf("| **%s** | **%d** |\n", side.name, total(side.counts))
		}
		page := filepath.Join(recipe, "README.md")
		holdTable(t, page, table)
		link, err := filepath.Rel(comingFrom, page)
		if err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(read(t, page), "# "), "\n")
		summary += fmt.Sprintf("| [%s](%s) | %d | %d |\n", title, filepath.ToSlash(link), total(before), total(here))
	}
	holdTable(t, filepath.Join(comingFrom, "README.md"), summary)
}

var linesTable = regexp.MustCompile(`(?s)(<!-- lines:begin[^\n]*-->\n\n).*?(\n<!-- lines:end -->)`)

// holdTable compares the table between the marks of a page with what it is to be, or writes it.
func holdTable(t *testing.T, page, want string) {
	t.Helper()
	text := read(t, page)
	if !linesTable.MatchString(text) {
		t.Errorf("%s has no place for a table of lines", page)
		return
	}
	wanted := linesTable.ReplaceAllString(text, "${1}"+want+"${2}")
	if wanted == text {
		return
	}
	if !*update {
		t.Errorf("the table of lines in %s is old: run go test -run LineCount -update in docs/how-to. Want:\n%s", page, want)
		return
	}
	if err := os.WriteFile(page, []byte(wanted), 0o644); err != nil {
		t.Error(err)
	}
}

var foreignBlock = regexp.MustCompile("(?ms)^```(?:python|go|dockerfile|smarty)\n(.*?)^```$")

// TestMigrationPagesQuoteOriginalFiles has each block of code of a page be consecutive lines of a file in its folder before.
func TestMigrationPagesQuoteOriginalFiles(t *testing.T) {
	for _, recipe := range migrations(t) {
		var texts []string
		err := filepath.WalkDir(filepath.Join(recipe, "before"), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				texts = append(texts, "\n"+read(t, path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range foreignBlock.FindAllStringSubmatch(read(t, filepath.Join(recipe, "README.md")), -1) {
			if !slices.ContainsFunc(texts, func(text string) bool { return holds(text, block[1]) }) {
				t.Errorf("%s: no file has these lines:\n%s", recipe, block[1])
			}
		}
	}
}
