package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTestsOfTheMemoryTableExist has each row of the page name a test that exists.
func TestTestsOfTheMemoryTableExist(t *testing.T) {
	page, err := os.ReadFile("contributing/memory.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir("../internal", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			tests[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)`")
	for _, row := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| Fact ") {
			continue
		}
		all := named.FindAllStringSubmatch(row, -1)
		if len(all) == 0 {
			t.Errorf("no test in %q", row)
		}
		for _, m := range all {
			if !tests[m[1]] {
				t.Errorf("there is no %s", m[1])
			}
		}
	}
}
