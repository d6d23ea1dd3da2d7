package pages

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/net/html"
)

// Malformed reports errors that browsers would have to correct: misnested or unclosed elements, and duplicate IDs. A
// page must also have a language, a title, and one heading of level one.
func (s *Site) Malformed() ([]string, error) {
	var wrong []string
	for _, name := range s.Names() {
		file, err := os.Open(filepath.Join(s.folder, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		why := malformed(file)
		_ = file.Close() // opened for reading only
		for _, one := range why {
			wrong = append(wrong, name+": "+one)
		}
	}
	return wrong, nil
}

// empty are the elements without an end tag.
var empty = []string{"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}

func malformed(page io.Reader) []string {
	var wrong, open []string
	found, named := map[string]int{}, map[string]bool{}
	for t := html.NewTokenizer(page); ; {
		kind := t.Next()
		if kind == html.ErrorToken {
			if len(open) > 0 {
				wrong = append(wrong, fmt.Sprintf("<%s> has no end", open[len(open)-1]))
			}
			break
		}
		token := t.Token()
		switch {
		case kind == html.StartTagToken || kind == html.SelfClosingTagToken:
			wrong = append(wrong, look(token, found, named)...)
			if kind == html.StartTagToken && !slices.Contains(empty, token.Data) && !slices.Contains(open, "svg") || token.Data == "svg" {
				open = append(open, token.Data)
			}
		case kind == html.EndTagToken && slices.Contains(open, "svg") && token.Data != "svg": // not HTML
		case kind == html.EndTagToken && (len(open) == 0 || open[len(open)-1] != token.Data):
			return append(wrong, fmt.Sprintf("</%s> ends what is not the last to begin: %v", token.Data, open))
		case kind == html.EndTagToken:
			open = open[:len(open)-1]
		}
	}
	for _, one := range []string{"html", "title", "h1"} {
		if found[one] != 1 {
			wrong = append(wrong, fmt.Sprintf("%d times <%s>, want one", found[one], one))
		}
	}
	return wrong
}

// look counts an element, and returns what is wrong with its attributes.
func look(token html.Token, found map[string]int, named map[string]bool) (wrong []string) {
	found[token.Data]++
	n := &html.Node{Attr: token.Attr}
	if id, ok := attribute(n, "id"); ok {
		if named[id] {
			wrong = append(wrong, "two places are called "+id)
		}
		named[id] = true
	}
	for element, needs := range map[string]string{"html": "lang", "img": "alt"} {
		if _, ok := attribute(n, needs); token.Data == element && !ok {
			wrong = append(wrong, fmt.Sprintf("<%s> has no %s", element, needs))
		}
	}
	return wrong
}
