package render

import (
	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// addSelect adds the select template of an entry of spec.related.
func (p *Program) addSelect(name string, u *syntax.Unit) {
	if p.selects == nil {
		p.selects = map[string]*unit{}
	}
	p.selects[name] = &unit{Unit: u}
}

// Select renders the select template of an entry of spec.related. It returns the mappings that the template writes, in one document or
// as a list: plain JSON data that is not shared, except for strings, which may be parts of the input. It returns nil if the template
// writes nothing, or the entry has no template. The error is an [*Error].
func (p *Program) Select(name string, in *Input) ([]map[string]any, error) {
	u, ok := p.selects[name]
	if !ok {
		return nil, nil
	}
	out := []map[string]any{}
	found := false
	err := p.render(u, in, func(_ *exec, d document.Document) (err error) {
		if found {
			return d.Errorf("a selection is one YAML document: one mapping, or a list of mappings; remove what follows ---")
		}
		found = true
		out, err = selections(d)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// selections returns the mappings of a document.
func selections(d document.Document) ([]map[string]any, error) {
	v, err := d.Value()
	if err != nil {
		return nil, err
	}
	all, isList := v.([]any)
	if !isList {
		all = []any{v}
	}
	out := make([]map[string]any, 0, len(all))
	for _, each := range all {
		m, ok := each.(map[string]any)
		if !ok {
			return nil, d.Errorf("a selection is a map or a list of maps, not %s", token.KindOf(each))
		}
		out = append(out, m)
	}
	return out, nil
}
