package render

import (
	"maps"
	"strings"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// Admits reports whether an object is a parent, by the filter; without one, each object is. What templater writes into parents is hidden from
// it. The error is an [*syntax.Error], also where the filter yields something else than true, false or nothing, or does more work than one
// object is worth.
func (p *Program) Admits(object map[string]any) (admits bool, err error) {
	if p.filter == nil {
		return true, nil
	}
	var own budget.Pass
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
		return x.failf(pipe.Cmds[0], "%s is %s, but must be true or false; compare it, as in eq .spec.class \"a\"", syntax.Excerpt(pipe), token.KindOf(v))
	})
	return admits && err == nil, err
}

// HasFilter reports whether a filter tells which objects are parents.
func (p *Program) HasFilter() bool { return p.filter != nil }

// withoutOwn returns an object without what templater writes into parents.
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

// JudgesReadiness reports whether any child has a readyWhen.
func (p *Program) JudgesReadiness() bool { return p.readyWhen != nil }

// HasReadyWhen reports whether the child has a readyWhen.
func (p *Program) HasReadyWhen(name string) bool { return p.readyWhen[name] != nil }

// ReadyWhen evaluates the readyWhen of a child, which must have one, for one of its live objects. object is called when
// the object is looked at, at most once; its error, which is that of Spend, ends the evaluation. The error is an
// [*syntax.Error], also where the expression yields anything but true or false.
func (p *Program) ReadyWhen(name string, object func() (map[string]any, error), in *Input) (ready bool, err error) {
	u, ok := p.readyWhen[name]
	if !ok {
		return false, &syntax.Error{Template: syntax.ReadyWhenName(name), Reason: syntax.Invalid, Message: "this child has no readyWhen"}
	}
	err = p.execute(u, in, func(x *exec) error {
		x.view.Object = object
		x.vars = append(x.vars, variable{name: "$", value: &x.view.Root})
		defer x.pop(len(x.vars) - 1)
		pipe := u.Expression()
		v, err := x.pipeline(&x.view.Root, pipe)
		if err != nil {
			return x.located(err, pipe)
		}
		var isBool bool
		switch ready, isBool = v.(bool); {
		case isBool:
			return nil
		case v == nil:
			return x.failf(pipe.Cmds[0], "%s has no value, but must be true or false; compare it, or use default false", syntax.Excerpt(pipe))
		}
		return x.failf(pipe.Cmds[0], "%s is %s, but must be true or false; compare it, as in eq .object.status.phase \"Bound\"", syntax.Excerpt(pipe), token.KindOf(v))
	})
	return ready && err == nil, err
}
