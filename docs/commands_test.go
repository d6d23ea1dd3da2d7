package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	inText   = regexp.MustCompile("`([^`]+)`")
	flagRow  = regexp.MustCompile("(?m)^\\| (?:`(-[a-z])`, )?`(--[a-z-]+)` \\|")
	target   = regexp.MustCompile(`(?m)^([a-z-]+):`)
	ends     = regexp.MustCompile(` *(\||>|&&|;|#).*`)
	ofMake   = regexp.MustCompile(`^make(?: -C \S+)? ([a-z][a-z-]*)`)
	ofOurs   = regexp.MustCompile(`^(?:kubectl )?templater ([a-z]+)(.*)`)
	ofPiped  = regexp.MustCompile(`\| ((?:kubectl )?templater .*)`)
	notPages = []string{".cache", ".git", "node_modules", "testdata"}
)

// TestPagesUseExistingCommandsAndFlags holds what pages have one type: the commands of templater with their flags, as the pages of the commands have them,
// and the targets of the Makefile.
func TestPagesUseExistingCommandsAndFlags(t *testing.T) {
	flags, targets, count := map[string][]string{}, map[string]bool{}, 0
	for _, match := range target.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets[match[1]] = true
	}
	for _, page := range allPages(t) {
		for _, typed := range typedIn(read(t, page)) {
			if match := ofMake.FindStringSubmatch(typed); match != nil && !targets[match[1]] {
				t.Errorf("%s: %s: the Makefile has no %s", page, typed, match[1])
			}
			match := ofOurs.FindStringSubmatch(typed)
			if match == nil {
				continue
			}
			count++
			if flags[match[1]] == nil {
				flags[match[1]] = flagsOf(t, match[1])
			}
			for word := range strings.FieldsSeq(match[2]) {
				name, _, _ := strings.Cut(strings.Trim(word, "[]"), "=")
				if len(name) > 1 && name[0] == '-' && !slices.Contains(flags[match[1]], name) {
					t.Errorf("%s: %s: templater %s has no flag %s", page, typed, match[1], name)
				}
			}
		}
	}
	if count == 0 {
		t.Error("no commands found")
	}
}

// flagsOf returns the flags of a command.
func flagsOf(t *testing.T, command string) []string {
	t.Helper()
	all := []string{"--help", "-h"}
	for _, match := range flagRow.FindAllStringSubmatch(read(t, "docs/reference/commands/"+command+".md"), -1) {
		all = append(all, match[1], match[2])
	}
	return all
}

// allPages returns the pages of the repository, by their paths in it.
func allPages(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(notPages, entry.Name()):
			return fs.SkipDir
		case filepath.Ext(name) == ".md":
			page, err := filepath.Rel(root, name)
			all = append(all, filepath.ToSlash(page))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// typedIn returns what a page has one type: the lines of its code, and code within its text, each up to the end of the command. What comes
// behind a pipe is a command of its own.
func typedIn(page string) []string {
	var all []string
	add := func(code string) {
		code = strings.TrimPrefix(strings.TrimSpace(code), "$ ")
		if piped := ofPiped.FindStringSubmatch(code); piped != nil {
			all = append(all, ends.ReplaceAllString(piped[1], ""))
		}
		all = append(all, ends.ReplaceAllString(code, ""))
	}
	fenced, text := false, ""
	for line := range strings.Lines(page) {
		switch fence := strings.HasPrefix(line, "```"); {
		case fence:
			fenced = !fenced
			text += "\n"
		case fenced || strings.HasPrefix(line, "    "):
			add(line)
		default:
			text += line
		}
	}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		for _, code := range inText.FindAllStringSubmatch(paragraph, -1) {
			add(strings.Join(strings.Fields(code[1]), " "))
		}
	}
	return all
}
