package simulate

import (
	"fmt"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Place is a line of a template.
type Place struct {
	Template string // such as children[pod] or helpers
	Line     int    // from 1
}

// String is such as children[pod]:3.
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.Template, p.Line) }

// entries are the child templates that were rendered.
func (p *pass) entries() []v1.Child {
	switch {
	case p.gone:
		return nil
	case p.parent.Deleting():
		return spec.Finals(p.spec)
	}
	return p.spec.Children
}

// explain renders the entries once more, and returns where the fields of what they yield are from; nil unless that is asked for.
func (p *pass) explain() map[child.ID]map[string]Place {
	if !p.Explain {
		return nil
	}
	all := map[child.ID]map[string]Place{}
	for _, entry := range p.entries() {
		places := map[int]map[string]Place{}
		in := p.input()
		in.Place = func(object int, path, template string, line int) {
			if places[object] == nil {
				places[object] = map[string]Place{}
			}
			places[object][path] = Place{template, line}
		}
		objects, _ := p.compiled.Program.Child(entry.Name, in) // none where that fails, which was reported
		for i, o := range objects {
			id := child.IDOf(o.Content)
			id.Name.Namespace = p.Namespace(o.Content, p.state.Parent)
			all[id] = places[i]
		}
	}
	return all
}
