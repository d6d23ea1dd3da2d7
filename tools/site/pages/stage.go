// Package pages processes the pages before and after rendering: it stages the Markdown for Hugo, and reads the
// resulting HTML to check its links and to write the search index.
package pages

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// last is the position of a page that the README of its folder does not link to.
const last = 1000

// front is the front matter of a page for Hugo.
type front struct {
	Title  string         `json:"title"`
	Weight int            `json:"weight,omitempty"` // position among the pages of its folder
	Params map[string]any `json:"params"`
}

// Stage copies the Markdown and the SVG pictures below docs to a folder for Hugo. A README becomes the index page of its folder. The heading
// of a page becomes its title, and the pages of a folder are in the order of the links in its README.
func Stage(docs, to string) error {
	return filepath.WalkDir(docs, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "cases"):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".md" && filepath.Ext(name) != ".svg":
			return nil
		}
		relative, err := filepath.Rel(docs, name)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if filepath.Ext(name) == ".md" {
			if content, err = staged(docs, relative, string(content)); err != nil {
				return err
			}
		}
		target := filepath.Join(to, relative)
		if filepath.Base(target) == "README.md" {
			target = filepath.Join(filepath.Dir(target), "_index.md")
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}

// staged is a page in Hugo's format. Its name is relative to docs.
func staged(docs, name, text string) ([]byte, error) {
	weight, err := place(docs, name)
	if err != nil {
		return nil, err
	}
	name = filepath.ToSlash(name)
	title, body, ok := cutTitle(text)
	if !ok {
		return nil, fmt.Errorf("%s has no heading: begin it with a line like # Title", name)
	}
	head, err := json.Marshal(front{Title: title, Weight: weight, Params: map[string]any{"source": path.Join("docs", name), "lead": lead(body)}})
	if err != nil {
		return nil, err
	}
	return append(append(head, "\n\n"...), body...), nil
}

// cutTitle removes the first heading from a page. Only a comment may precede it.
func cutTitle(text string) (title, body string, ok bool) {
	rest := text
	if strings.HasPrefix(rest, "<!--") {
		if _, rest, ok = strings.Cut(rest, "-->"); !ok {
			return "", "", false
		}
	}
	line, body, _ := strings.Cut(strings.TrimLeft(rest, "\n"), "\n")
	title, ok = strings.CutPrefix(line, "# ")
	return strings.ReplaceAll(title, "`", ""), body, ok
}

var markup = regexp.MustCompile("\\[([^]]*)\\]\\([^)]*\\)|[*`]")

// lead is the first paragraph of a page, as plain text.
func lead(body string) string {
	paragraph, _, _ := strings.Cut(strings.TrimLeft(body, "\n"), "\n\n")
	return strings.Join(strings.Fields(markup.ReplaceAllString(paragraph, "$1")), " ")
}

var link = regexp.MustCompile(`\]\(([^):#]+)`)

// place is the position of the link to a page in the README above it, from 1.
func place(docs, name string) (int, error) {
	folder, self := filepath.Dir(name), filepath.Base(name)
	if self == "README.md" {
		if folder == "." {
			return 1, nil
		}
		self = filepath.ToSlash(filepath.Join(filepath.Base(folder), self))
		folder = filepath.Dir(folder)
	}
	text, err := os.ReadFile(filepath.Join(docs, folder, "README.md"))
	if os.IsNotExist(err) {
		return last, nil
	} else if err != nil {
		return 0, err
	}
	for i, match := range link.FindAllStringSubmatch(string(text), -1) {
		if path.Clean(match[1]) == self {
			return i + 1, nil
		}
	}
	return last, nil
}
