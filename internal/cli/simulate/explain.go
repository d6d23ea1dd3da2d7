package simulate

import (
	"fmt"

	"github.com/templater-dev/templater/internal/reconcile/child"
)

// Place is a line of a template.
type Place struct {
	Template string // such as children[pod] or helpers
	Line     int    // from 1
}

// String returns for example children[pod]:3.
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.Template, p.Line) }

// explain renders the child templates again, and returns the template lines of the fields of their objects; nil unless requested.
func (p *finished) explain() map[child.ID]map[string]Place {
	if !p.Explain {
		return nil
	}
	all := map[child.ID]map[string]Place{}
	for _, entry := range p.report.Templates {
		places := map[int]map[string]Place{}
		in := p.input()
		in.Place = func(object int, path, template string, line int) {
			if places[object] == nil {
				places[object] = map[string]Place{}
			}
			places[object][path] = Place{template, line}
		}
		objects, _ := p.compiled.Program.Child(entry.Name, in) // none if it fails, which was reported
		for i, o := range objects {
			id := child.IDOf(o.Content)
			id.Name.Namespace = p.Namespace(o.Content, p.state.Parent)
			all[id] = places[i]
		}
	}
	return all
}
