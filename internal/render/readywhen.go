package render

import (
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

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
		return false, &syntax.Error{Template: syntax.ReadyWhenName(name), Reason: syntax.Invalid, Message: "there is no readyWhen for this child"}
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
