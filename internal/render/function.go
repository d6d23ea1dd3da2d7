package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// Functions lists every function of text/template and sprig and our own,
// allowed or refused, sorted by name.
func Functions() []syntax.Function {
	all := syntax.Refused()
	for _, f := range functions {
		all = append(all, f.Function)
	}
	slices.SortFunc(all, func(a, b syntax.Function) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// function is a function that templates may call.
type function struct {
	syntax.Function
	do func(*call) any
	// lazy, if set, evaluates its own arguments.
	lazy func(x *exec, dot any, nodes []parse.Node, final any) (any, error)
}

// functions holds what templates may call, by name. It is filled before main
// starts and not changed afterwards.
var functions = map[string]*function{}

// group registers functions that have a source, a nil rule and a treatment of
// rendered text in common.
type group struct {
	source   string
	nilOK    bool
	rendered syntax.Treatment
}

// add registers a function under one or more names.
func (g group) add(names []string, minArgs, maxArgs int, doc string, do func(*call) any) {
	for _, name := range names {
		functions[name] = &function{
			Function: syntax.Function{Name: name, Source: g.source, Doc: doc, Nil: g.nilOK, Rendered: g.rendered, Min: minArgs, Max: maxArgs},
			do:       do,
		}
	}
}

// signatures returns what templates may call, by name.
var signatures = sync.OnceValue(func() map[string]*syntax.Function {
	all := make(map[string]*syntax.Function, len(functions))
	for name, f := range functions {
		all[name] = &f.Function
	}
	return all
})

func names(n ...string) []string { return n }

// call is one call of a function. Its methods read the arguments; the first
// error they meet is kept, and what the function then yields is not used.
type call struct {
	x       *exec
	f       *function
	args    []any
	err     error
	derived bool // an argument was expanded
}

// call calls f. Nodes are the arguments as written, without the final one of
// a pipeline, and serve messages only.
func (x *exec) call(f *function, args []any, nodes []parse.Node) (any, error) {
	if err := x.Charge(costCall); err != nil {
		return nil, err
	}
	if err := f.Arity(len(args)); err != nil {
		return nil, err
	}
	if !f.Nil {
		for i, arg := range args {
			if arg == nil {
				return nil, missing(f.Name, i, nodes)
			}
		}
	}
	c := call{x: x, f: f, args: args}
	v := f.do(&c)
	if c.err != nil {
		return nil, c.err
	}
	return c.result(v)
}

func missing(name string, i int, nodes []parse.Node) error {
	what := "the value before the |"
	if i < len(nodes) {
		what = syntax.Excerpt(nodes[i])
	}
	return fmt.Errorf("%s: argument %d, %s, has no value; give it one, or use default, required or if", name, i+1, what)
}

// result pays for what a function yields and marks text that was computed
// from rendered text.
func (c *call) result(v any) (any, error) {
	switch r := v.(type) {
	case string:
		if err := c.x.Charge(len(r)); err != nil {
			return nil, err
		}
		if c.computes() && hasLineEnd(r) {
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
	return data.Normal(v)
}

// computes reports whether the result was computed from rendered text, rather
// than chosen from the arguments. Such a result is never shared with anything.
func (c *call) computes() bool {
	return c.derived && (c.f.Rendered == syntax.Expands || c.f.Rendered == syntax.Keeps)
}

// markDerived marks the items of a list that a function made from rendered
// text, as splitList does.
func markDerived(list []any) {
	for i, item := range list {
		if s, _ := item.(string); hasLineEnd(s) {
			list[i] = token.Derived(s)
		}
	}
}

// fail makes the call fail.
func (c *call) fail(format string, args ...any) any {
	if c.err == nil {
		c.err = errors.New(c.f.Name + ": " + fmt.Sprintf(format, args...))
	}
	return nil
}

// failed makes the call fail with err as it is.
func (c *call) failed(err error) {
	if c.err == nil {
		c.err = err
	}
}

// pay charges for work or memory; the caller must not go on when it reports
// false.
func (c *call) pay(units int) bool {
	c.failed(c.x.Charge(units))
	return c.err == nil
}
