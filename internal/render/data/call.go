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

// Execution is the state that the calls of one execution share. It is not safe for concurrent use.
type Execution struct {
	token.Table
	// Ready implements the function ready; nil = no object is ready.
	Ready func(object map[string]any) bool
	// Logs implements the function logs: it returns the logs of a Pod by container name. nil = there are no logs.
	Logs func(object map[string]any) (map[string]string, error)
	// Passed implements the function after: it reports whether it is this time or later, in seconds since 1970. nil = it never is.
	Passed func(seconds int64) bool
	// Patterns are the regular expressions compiled so far.
	Patterns Patterns
}

// Function is a function that templates can call. It does not change once templates are compiled.
type Function struct {
	syntax.Function
	// Do returns the result of a call: a value as described in the package comment, an int, or a number as decoded from JSON. The
	// result is not used if the call has failed. Do must not retain the call or the slice of its arguments, and must not modify the
	// arguments. nil = only the executor can run the function.
	Do func(*Call) any
	// Fractions is the name of the function that does the same with floating point numbers; "" = none.
	Fractions string
}

// Call is one call of a function. Its methods read the arguments, counted from 0, and charge for reading them. The first error is
// kept; after it, the methods may return anything, such as zero values, and the result of the function is not used.
type Call struct {
	*Execution
	// Args are the arguments.
	Args []any
	// Err is the first error so far.
	Err     error
	f       *Function
	derived bool // see Derived
}

// costCall is the cost of calling a function, in units of work.
const costCall = 100

// Call calls f, whose Do must not be nil. Nodes are the arguments as written, without the final one of a pipeline; they are only used
// in messages. The error is a [StopError], an error of the budget, or describes what is wrong with the call.
func (f *Function) Call(x *Execution, args []any, nodes []parse.Node) (any, error) {
	c, err := f.Begin(x, args, nodes)
	if err != nil {
		return nil, err
	}
	return c.End(f.Do(&c))
}

// Begin charges for a call of f and returns it, if it has the number of arguments that f needs and all have values.
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

// End ends a call with the result v: it charges for it, and marks text that was computed from rendered text.
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

// markDerived marks the items of a list that a function, such as splitList, made from rendered text.
func markDerived(list []any) {
	for i, item := range list {
		if s, _ := item.(string); HasLineEnd(s) {
			list[i] = token.Derived(s)
		}
	}
}

// Derived reports whether any text read so far is rendered, or computed from rendered text.
func (c *Call) Derived() bool { return c.derived }

// HasLineEnd reports whether text has more than one line.
func HasLineEnd(s string) bool { return strings.IndexByte(s, '\n') >= 0 }

// StopError means that the template itself stopped rendering.
type StopError struct {
	Reason  syntax.Reason
	Message string
}

// Error returns the message.
func (e *StopError) Error() string { return e.Message }

// Fail makes the call fail, and returns nil as its result. The message begins with the name of the function.
func (c *Call) Fail(format string, args ...any) any {
	if c.Err == nil {
		c.Err = errors.New(c.f.Name + ": " + fmt.Sprintf(format, args...))
	}
	return nil
}

// FailWith makes the call fail with err; nil has no effect.
func (c *Call) FailWith(err error) {
	if c.Err == nil {
		c.Err = err
	}
}

// FailBecause makes the call fail: with err if the budget is used up, otherwise with the name of the function and the message of err.
// nil has no effect.
func (c *Call) FailBecause(err error) {
	switch {
	case budget.Ended(err):
		c.FailWith(err)
	case err != nil:
		c.Fail("%s", err)
	}
}

// Pay charges for work or memory. If it returns false, the caller must stop.
func (c *Call) Pay(units int) bool {
	c.FailWith(c.Charge(units))
	return c.Err == nil
}

// PayFor charges for n times a number of units.
func (c *Call) PayFor(n, units int) bool {
	c.FailWith(c.ChargeFor(n, units))
	return c.Err == nil
}
