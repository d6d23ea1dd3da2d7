package render

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// located returns an error as an Error that points at a node, unless it is an Error already.
func (x *exec) located(err error, n parse.Node) error {
	if err == nil {
		return nil
	}
	if at := x.placed(err); at != nil {
		return at
	}
	return x.src.ErrorAt(syntax.Start(n), reasonOf(err), err.Error())
}

// placed returns the Error in err that has a place in a template, or nil.
func (x *exec) placed(err error) error {
	if at, ok := errors.AsType[*syntax.Error](err); ok {
		return at
	}
	if hidden, ok := errors.AsType[*document.CommentError](err); ok {
		return x.suspects[hidden.Mark].error()
	}
	return nil
}

func (x *exec) failf(n parse.Node, format string, args ...any) error {
	return x.src.ErrorAt(syntax.Start(n), syntax.Invalid, fmt.Sprintf(format, args...))
}

// reasonOf returns the reason for an error.
func reasonOf(err error) syntax.Reason {
	if stop, ok := errors.AsType[*data.StopError](err); ok {
		return stop.Reason
	}
	if _, ok := errors.AsType[budget.Error](err); ok {
		return syntax.Budget
	}
	if _, ok := errors.AsType[*budget.InterruptedError](err); ok {
		return syntax.Interrupted
	}
	if errors.Is(err, token.ErrMissing) {
		return syntax.Missing
	}
	return syntax.Invalid
}

// mapped returns an Error for an error of the output. It points at the place in the template that the place in the output came from.
func (x *exec) mapped(err error) error {
	if err == nil {
		return nil
	}
	if at := x.placed(err); at != nil {
		return at
	}
	offset := -1
	if at, ok := errors.AsType[*document.Error](err); ok {
		offset = at.Offset
	}
	src, pos := x.out.origin(offset)
	err = x.out.explained(err, offset)
	if src == nil {
		return &syntax.Error{Template: x.unit.Text.Name, Reason: reasonOf(err), Message: syntax.OneLine(err.Error())}
	}
	return src.ErrorAt(pos, reasonOf(err), err.Error())
}

// panicSite returns the line of this package that caused the panic that is being recovered.
func panicSite() string {
	var stack [32]uintptr
	frames := runtime.CallersFrames(stack[:runtime.Callers(3, stack[:])])
	for {
		frame, more := frames.Next()
		if strings.Contains(frame.Function, "internal/render") {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}

// panicked returns the error for a panic, which is a bug in templater or a library. The message of the panic is not included, because
// it may contain data.
func (x *exec) panicked(site string) error {
	message := "internal error: the renderer panicked at " + site + "; please report this template"
	if x.place == nil || x.src == nil {
		return &syntax.Error{Template: x.unit.Text.Name, Reason: syntax.Invalid, Message: message}
	}
	return x.src.ErrorAt(syntax.Start(x.place), syntax.Invalid, message)
}
