package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// place is a file or folder of the repository that the page names.
var place = regexp.MustCompile("`((?:api|cmd|config|internal)/[^`…]*)`")

// functions are the functions, types and constants that the page says are in a file.
var functions = regexp.MustCompile("((?:`\\w+`(?:, | and )?)+) in `([^`]*\\.go)`")

// step is a step of a numbered list that begins with a package.
var step = regexp.MustCompile("(?m)^[0-9]+\\. `(internal/[^`]*)` ")

func TestArchitectureNamesExistingCode(t *testing.T) {
	count := 0
	for _, match := range functions.FindAllStringSubmatch(read(t, "docs/contributing/architecture.md"), -1) {
		code := read(t, match[2])
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(match[1], -1) {
			count++
			if !regexp.MustCompile(`(?m)^(func (\([^)]*\) )?` + name + `\(|type ` + name + ` |\t?` + name + ` +=)`).MatchString(code) {
				t.Errorf("docs/contributing/architecture.md: there is no %s in %s", name, match[2])
			}
		}
	}
	if count == 0 {
		t.Error("no functions found")
	}
}

func TestArchitectureListsAllPackages(t *testing.T) {
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

func TestArchitectureWalkthroughsAreShort(t *testing.T) {
	page := read(t, "docs/contributing/architecture.md")
	for _, test := range []struct {
		why, heading string
		most         int
	}{
		{"a reader can follow a change of a parent", "## A change of a parent, from watch to status", 15},
		{"a reader can follow a change of a spec", "## A spec, from YAML to a running definition", 10},
	} {
		t.Run(test.why, func(t *testing.T) {
			_, part, found := strings.Cut(page, test.heading+"\n")
			if !found {
				t.Fatalf("docs/contributing/architecture.md has no %q", test.heading)
			}
			part, _, _ = strings.Cut(part, "\n## ")
			steps := step.FindAllStringSubmatch(part, -1)
			seen := map[string]bool{}
			for _, match := range steps {
				if info, err := os.Stat(filepath.Join(root, match[1])); err != nil || !info.IsDir() || seen[match[1]] {
					t.Errorf("%q is not a package, or is there twice", match[1])
				}
				seen[match[1]] = true
			}
			if len(steps) == 0 || len(steps) > test.most {
				t.Errorf("%d packages are listed, want 1 to %d", len(steps), test.most)
			}
			if !strings.HasPrefix(strings.TrimSpace(part), strconv.Itoa(len(steps))+" packages ") {
				t.Errorf("the text does not begin with the number of its packages, %d", len(steps))
			}
		})
	}
}

func TestArchitectureIsShort(t *testing.T) {
	const most = 1500
	if n := len(strings.Fields(read(t, "docs/contributing/architecture.md"))); n > most {
		t.Errorf("docs/contributing/architecture.md has %d words, want at most %d", n, most)
	}
}
