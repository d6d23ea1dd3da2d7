package pages

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/net/html"
)

// DeadLinks reports every broken link within the site, and every resource that a page would load from elsewhere. It
// does not follow links to other hosts.
func (s *Site) DeadLinks() []string {
	anchors := make(map[string]map[string]bool, len(s.Pages))
	for name, page := range s.Pages {
		anchors[name] = ids(page)
	}
	var dead []string
	for _, name := range s.Names() {
		for n := range s.Pages[name].Descendants() {
			if why := s.dead(name, n, anchors); why != "" {
				dead = append(dead, name+": "+why)
			}
		}
	}
	return dead
}

// dead returns what is wrong with the link of an element, if anything.
func (s *Site) dead(name string, n *html.Node, anchors map[string]map[string]bool) string {
	key := map[string]string{"a": "href", "link": "href", "img": "src", "script": "src", "source": "srcset"}[n.Data]
	target, ok := attribute(n, key)
	if n.Type != html.ElementNode || !ok {
		return ""
	}
	to, err := url.Parse(target)
	if err != nil {
		return err.Error()
	}
	if to.IsAbs() || to.Host != "" {
		if n.Data == "a" {
			return ""
		}
		return fmt.Sprintf("<%s> loads %s from another host", n.Data, target)
	}
	file := path.Join(path.Dir(name), to.Path)
	if to.Path == "" {
		file = name
	}
	if known := anchors[file]; known != nil {
		if to.Fragment != "" && !known[to.Fragment] {
			return fmt.Sprintf("%s: the page is there, the place #%s is not", target, to.Fragment)
		}
		return ""
	}
	if info, err := os.Stat(filepath.Join(s.folder, filepath.FromSlash(file))); err != nil || info.IsDir() {
		return target + " is not there"
	}
	return ""
}

// ids are the link targets in a page.
func ids(page *html.Node) map[string]bool {
	found := map[string]bool{}
	for n := range page.Descendants() {
		if id, ok := attribute(n, "id"); ok {
			found[id] = true
		}
	}
	return found
}
