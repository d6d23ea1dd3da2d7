package pages

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Site is a rendered site.
type Site struct {
	folder string
	// Pages are the pages rendered from Markdown, by slash-separated name relative to the folder.
	Pages map[string]*html.Node
}

// Open reads the pages of a site, except those below playground, which is built separately.
func Open(folder string) (*Site, error) {
	s := &Site{folder: folder, Pages: map[string]*html.Node{}}
	return s, filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name == filepath.Join(folder, "playground"):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".html":
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		s.Pages[filepath.ToSlash(relative)], err = html.Parse(bytes.NewReader(text))
		return err
	})
}

// Names are the names of the pages, sorted.
func (s *Site) Names() []string {
	names := make([]string, 0, len(s.Pages))
	for name := range s.Pages {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// attribute returns an attribute of an element.
func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// text is all text below a node, with whitespace collapsed.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
