package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// place is a file or folder of the repository that the page names.
var place = regexp.MustCompile("`((?:api|cmd|config|internal)/[^`…]*)`")

func TestArchitectureNamesWhatIsThere(t *testing.T) {
	page := read(t, "docs/architecture.md")
	named := map[string]bool{}
	for _, match := range place.FindAllStringSubmatch(page, -1) {
		named[match[1]] = true
		if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
			t.Errorf("docs/architecture.md: %v", err)
		}
	}
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(name))
		if !named[filepath.ToSlash(folder)] && folder != filepath.Join("internal", "render", "helmtest") {
			t.Errorf("docs/architecture.md has no row for %s", folder)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(named) == 0 {
		t.Error("no places found")
	}
}
