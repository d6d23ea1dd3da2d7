package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// section is a search result: the part of a page from one heading to the next. The JSON names are short, since there
// are hundreds of them.
type section struct {
	URL     string `json:"u"` // relative to the root of the site
	Page    string `json:"p"` // the title of the page
	Heading string `json:"h"` // empty for the part before the first heading
	Text    string `json:"t"`
}

// WriteIndex writes the search index as a script, which a page can load without a server. Every page must be in it.
func (s *Site) WriteIndex(file string) error {
	var all []section
	for _, name := range s.Names() {
		found := sections(name, s.Pages[name])
		if len(found) == 0 {
			return fmt.Errorf("%s: the search would not find it: it has no article with a heading", name)
		}
		all = append(all, found...)
	}
	var b bytes.Buffer
	b.WriteString("window.searchIndex = ")
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(all); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// sections are the sections of the article of a page.
func sections(name string, page *html.Node) []section {
	article := first(page, func(n *html.Node) bool { return n.DataAtom == atom.Article })
	if article == nil {
		return nil
	}
	title := first(article, func(n *html.Node) bool { return n.DataAtom == atom.H1 })
	if title == nil {
		return nil
	}
	found := []section{{URL: name, Page: text(title)}}
	for n := range article.ChildNodes() {
		id, ok := attribute(n, "id")
		switch {
		case n == title:
		case ok && (n.DataAtom == atom.H2 || n.DataAtom == atom.H3 || n.DataAtom == atom.H4):
			found = append(found, section{URL: name + "#" + id, Page: found[0].Page, Heading: text(n)})
		default:
			part := &found[len(found)-1]
			part.Text = strings.TrimSpace(part.Text + " " + text(n))
		}
	}
	return found
}

// first is the first matching node below another one.
func first(n *html.Node, wanted func(*html.Node) bool) *html.Node {
	for d := range n.Descendants() {
		if wanted(d) {
			return d
		}
	}
	return nil
}
