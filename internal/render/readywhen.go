package render

import (
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// JudgesReadiness reports whether any child template has a readyWhen.
func (p *Program) JudgesReadiness() bool { return p.readyWhen != nil }

// HasReadyWhen reports whether this child template has a readyWhen.
func (p *Program) HasReadyWhen(name string) bool { return p.readyWhen[name] != nil }

// ReadyWhen evaluates the readyWhen of a child template for one of its live objects. The child template must have a readyWhen. object
// is called at most once, when the object is read; its error, which is that of Budget.Spend, stops the evaluation. The error is an
// [*syntax.Error], also if the result is not true or false.
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
			return x.failf(pipe.Cmds[0], "%s has no value, but must be a boolean; compare it, or use default false", syntax.Excerpt(pipe))
		}
		return x.failf(pipe.Cmds[0], "%s is %s, but must be a boolean; compare it, as in eq .object.status.phase \"Bound\"", syntax.Excerpt(pipe), token.KindOf(v))
	})
	return ready && err == nil, err
}
