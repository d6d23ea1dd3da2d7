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

// functions are those that the page says are in a file.
var functions = regexp.MustCompile("((?:`\\w+`(?:, | and )?)+) in `([^`]*\\.go)`")

func TestArchitectureNamesFunctionsThatAreThere(t *testing.T) {
	count := 0
	for _, match := range functions.FindAllStringSubmatch(read(t, "docs/contributing/architecture.md"), -1) {
		code := read(t, match[2])
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(match[1], -1) {
			count++
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `\(`).MatchString(code) {
				t.Errorf("docs/contributing/architecture.md: there is no %s in %s", name, match[2])
			}
		}
	}
	if count == 0 {
		t.Error("no functions found")
	}
}

func TestArchitectureNamesWhatIsThere(t *testing.T) {
	page := read(t, "docs/contributing/architecture.md")
	named := map[string]bool{}
	for _, match := range place.FindAllStringSubmatch(page, -1) {
		named[match[1]] = true
		if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
			t.Errorf("docs/contributing/architecture.md: %v", err)
		}
	}
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(name))
		if !named[filepath.ToSlash(folder)] && !strings.HasSuffix(folder, "test") { // but for those of tests alone
			t.Errorf("docs/contributing/architecture.md has no row for %s", folder)
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
