package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityPageNamesExistingTests finds the tests that the page on security names for its promises.
func TestSecurityPageNamesExistingTests(t *testing.T) {
	found := declaredTests(t, "cmd", "internal", "docs", "config", "e2e")
	promises := read(t, "docs/contributing/security-tests.md")
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(promises, -1)
	if len(named) < 30 {
		t.Errorf("the page names %d tests, want 30 at least: is the table still there?", len(named))
	}
	for _, match := range named {
		if !found[match[1]] {
			t.Errorf("docs/contributing/security-tests.md names %s, which is no test: name the one that holds the promise now", match[1])
		}
	}
}

// declaredTests returns the names of the tests and fuzz targets below these folders.
func declaredTests(t *testing.T, tops ...string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	definition := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, top := range tops {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range definition.FindAllStringSubmatch(string(text), -1) {
				found[match[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}
