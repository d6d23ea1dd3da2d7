package simulate

import (
	"fmt"

	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/render"
)

// Place is a line of a template.
type Place struct {
	Template string // such as children[pod] or helpers
	Line     int    // from 1
}

// String is such as children[pod]:3.
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.Template, p.Line) }

// explain renders the entries once more, and returns where the fields of what they yield are from; nil unless that is asked for.
func (p *pass) explain(observed []*child.Live) map[child.ID]map[string]Place {
	if !p.Explain {
		return nil
	}
	all := map[child.ID]map[string]Place{}
	for _, entry := range p.entries {
		var places []map[string]Place
		in := p.input(observed)
		in.Place = func(object int, path, template string, line int) {
			for len(places) <= object {
				places = append(places, map[string]Place{})
			}
			places[object][path] = Place{template, line}
		}
		objects, err := p.compiled.Program.Child(entry.Name, in)
		if err != nil {
			continue // which was told
		}
		p.file(all, objects, places)
	}
	return all
}

// file files places under the objects that they are of.
func (p *pass) file(all map[child.ID]map[string]Place, objects []render.Object, places []map[string]Place) {
	for i, o := range objects {
		id := child.IDOf(o.Content)
		if kind, err := p.kinds.resolve(child.GVKOf(o.Content)); err == nil && kind.Namespaced && id.Name.Namespace == "" {
			id.Name.Namespace = p.parent.Namespace()
		}
		if i < len(places) {
			all[id] = places[i]
		}
	}
}
