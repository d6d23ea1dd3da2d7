package data

import (
	"errors"
	"fmt"
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// Execution is what the calls of one execution share. It is not safe for concurrent use.
type Execution struct {
	token.Table
	// Ready answers the function of that name; nil is for never.
	Ready func(object map[string]any) bool
	// Logs answers the function of that name: it returns the texts of a Pod's logs by the names of its containers. nil is for no
	// logs to ask for.
	Logs func(object map[string]any) (map[string]string, error)
	// Patterns are the regular expressions compiled so far.
	Patterns Patterns
}

// Function is a function that templates may call. It is not changed once templates are compiled.
type Function struct {
	syntax.Function
	// Do returns what a call yields: a value as this package has it, an int, or what a decoder of JSON makes of a number. What it returns is not used where the call has
	// failed. It must not keep the call or the slice of its arguments, and must not change the arguments themselves. nil is for
	// what only the executor can do.
	Do func(*Call) any
	// Fractions is the name of the function that does the same with numbers that are not whole; "" is for none.
	Fractions string
}

// Call is one call of a function. Its methods read the arguments, counted from 0, and pay for what they read. The first
// error they meet is kept: from then on they may yield anything, such as nothing, and what the function yields is not used.
type Call struct {
	*Execution
	// Args are the arguments.
	Args []any
	// Err is the first error so far.
	Err     error
	f       *Function
	derived bool // see Derived
}

// costCall is for calling a function, in units of work.
const costCall = 100

// Call calls f, which must have something to do. Nodes are the arguments as written, without the final one of
// a pipeline, and serve messages only. The error is a [StopError], one of the budget, or says what is wrong with the call.
func (f *Function) Call(x *Execution, args []any, nodes []parse.Node) (any, error) {
	c, err := f.Begin(x, args, nodes)
	if err != nil {
		return nil, err
	}
	return c.End(f.Do(&c))
}

// Begin returns a call of f that is paid for, and has as many arguments, with values, as f needs.
func (f *Function) Begin(x *Execution, args []any, nodes []parse.Node) (Call, error) {
	if err := x.Charge(costCall); err != nil {
		return Call{}, err
	}
	if err := f.Arity(len(args)); err != nil {
		return Call{}, err
	}
	if !f.Nil {
		for i, arg := range args {
			if arg == nil {
				return Call{}, missing(f.Name, i, nodes)
			}
		}
	}
	return Call{Execution: x, Args: args, f: f}, nil
}

func missing(name string, i int, nodes []parse.Node) error {
	what := "the value before the |"
	if i < len(nodes) {
		what = syntax.Excerpt(nodes[i])
	}
	return fmt.Errorf("%s: argument %d, %s, has no value; set it, or use default, required or if", name, i+1, what)
}

// End ends a call that yields v: it pays for that, and marks text that was computed
// from rendered text.
func (c *Call) End(v any) (any, error) {
	if c.Err != nil {
		return nil, c.Err
	}
	switch r := v.(type) {
	case string:
		if err := c.Charge(len(r)); err != nil {
			return nil, err
		}
		if c.computes() && HasLineEnd(r) {
			return token.Derived(r), nil
		}
		return v, nil
	case []any:
		if c.computes() {
			markDerived(r)
		}
	case int:
		return int64(r), nil
	}
	return Normal(v)
}

// computes reports whether the result was computed from rendered text, rather
// than chosen from the arguments. Such a result is never shared with anything.
func (c *Call) computes() bool {
	return c.derived && (c.f.Rendered == syntax.Expands || c.f.Rendered == syntax.Keeps)
}

// markDerived marks the items of a list that a function made from rendered
// text, as splitList does.
func markDerived(list []any) {
	for i, item := range list {
		if s, _ := item.(string); HasLineEnd(s) {
			list[i] = token.Derived(s)
		}
	}
}

// Derived reports whether text that was read so far is rendered or computed from rendered text.
func (c *Call) Derived() bool { return c.derived }

// HasLineEnd reports whether text has more than one line.
func HasLineEnd(s string) bool { return strings.IndexByte(s, '\n') >= 0 }

// StopError is how the author's own end of rendering travels.
type StopError struct {
	Reason  syntax.Reason
	Message string
}

// Error returns the message.
func (e *StopError) Error() string { return e.Message }

// Fail makes the call fail, and returns nil for it to yield. The message begins with the name of the function.
func (c *Call) Fail(format string, args ...any) any {
	if c.Err == nil {
		c.Err = errors.New(c.f.Name + ": " + fmt.Sprintf(format, args...))
	}
	return nil
}

// FailWith makes the call fail with err as it is; nil changes nothing.
func (c *Call) FailWith(err error) {
	if c.Err == nil {
		c.Err = err
	}
}

// FailBecause makes the call fail: with err as it is where the budget is used up, else with its message behind the name of the
// function. nil changes nothing.
func (c *Call) FailBecause(err error) {
	switch {
	case budget.Ended(err):
		c.FailWith(err)
	case err != nil:
		c.Fail("%s", err)
	}
}

// Pay charges for work or memory; the caller must not go on when it reports
// false.
func (c *Call) Pay(units int) bool {
	c.FailWith(c.Charge(units))
	return c.Err == nil
}

// PayFor pays for n times a number of units.
func (c *Call) PayFor(n, units int) bool {
	c.FailWith(c.ChargeFor(n, units))
	return c.Err == nil
}
