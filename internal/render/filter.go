package render

import (
	"maps"
	"strings"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// Matches reports whether the filter selects an object as a parent. Without a filter, every object is a parent. The filter does not see
// what templater writes into parents. The error is an [*syntax.Error], also if the result is not true, false or empty, or if the
// filter exceeds the budget for one object.
func (p *Program) Matches(object map[string]any) (admits bool, err error) {
	if p.filter == nil {
		return true, nil
	}
	var own budget.Budget
	own.BeginFilter()
	in := &Input{Parent: withoutOwn(object, p.filter.Purpose == syntax.ForFilter), Budget: &own}
	err = p.execute(p.filter, in, func(x *exec) error {
		x.vars = append(x.vars, variable{name: "$", value: &x.view.Root})
		defer x.pop(len(x.vars) - 1)
		pipe := p.filter.Expression()
		v, err := x.pipeline(&x.view.Root, pipe)
		if err != nil {
			return x.located(err, pipe)
		}
		var isBool bool
		if admits, isBool = v.(bool); isBool || v == nil {
			return nil
		}
		return x.failf(pipe.Cmds[0], "%s is %s, but must be a boolean; compare it, as in eq .spec.class \"a\"", syntax.Excerpt(pipe), token.KindOf(v))
	})
	return admits && err == nil, err
}

// HasFilter reports whether there is a filter.
func (p *Program) HasFilter() bool { return p.filter != nil }

// withoutOwn returns an object without the fields that templater writes into parents.
func withoutOwn(object map[string]any, status bool) map[string]any {
	object = maps.Clone(object)
	if !status {
		delete(object, "status")
	}
	metadata, _ := object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	delete(metadata, "finalizers")
	for _, field := range []string{"labels", "annotations"} {
		all, ok := metadata[field].(map[string]any)
		if !ok {
			continue
		}
		all = maps.Clone(all)
		maps.DeleteFunc(all, func(key string, _ any) bool {
			domain, _, qualified := strings.Cut(key, "/")
			return qualified && (domain == "templater.dev" || strings.HasSuffix(domain, ".templater.dev"))
		})
		metadata[field] = all
	}
	if metadata != nil {
		object["metadata"] = metadata
	}
	return object
}
