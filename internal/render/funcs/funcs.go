// Package funcs implements the functions that templates may call.
//
// The table in table.go lists their names, types, costs and docs; the documentation, checks and completion are derived from it. Shared code is
// in package data. Package render executes three of them itself: and, or and include.
package funcs

import (
	"slices"
	"strings"
	"sync"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// All returns every function of text/template, sprig, Helm and templater,
// allowed or refused, sorted by name.
func All() []syntax.Function {
	all := syntax.Refused()
	for _, f := range functions {
		all = append(all, f.Function)
	}
	slices.SortFunc(all, func(a, b syntax.Function) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Lookup returns an allowed function by name, or nil. Callers must not modify it.
func Lookup(name string) *data.Function { return functions[name] }

// Named returns the allowed function that n names, or nil if n is not an identifier or names no allowed function.
func Named(n parse.Node) *syntax.Function {
	if id, ok := n.(*parse.IdentifierNode); ok && id != nil {
		return Allowed()[id.Ident]
	}
	return nil
}

// Allowed returns the functions that templates may call, by name. Callers must not modify the map.
var Allowed = sync.OnceValue(func() map[string]*syntax.Function {
	all := make(map[string]*syntax.Function, len(functions))
	for name, f := range functions {
		all[name] = &f.Function
	}
	return all
})

// functions holds the functions that templates may call, by name. It does not
// change after init.
var functions = map[string]*data.Function{}

func init() {
	for _, r := range table {
		known := syntax.Function{Source: r.source, Doc: r.doc, Rendered: r.rendered, Traits: r.traits}
		known.Typed(r.takes, r.yields)
		names := strings.Fields(r.names)
		for _, name := range names {
			known.Name, known.Same = name, names[0]
			functions[name] = &data.Function{Function: known, Do: r.do}
		}
	}
	for name, f := range functions {
		if other := functions[name+"f"]; other != nil && f.Yields == syntax.TypeWhole { // such as add and addf
			f.Fractions = other.Name
		}
	}
}

// paid returns do with an additional cost, in units of work.
func paid(cost int, do func(*data.Call) any) func(*data.Call) any {
	return func(c *data.Call) any {
		if c.Err != nil || !c.Pay(cost) {
			return nil
		}
		return do(c)
	}
}

// Costs of some functions, in units of work.
const (
	costJSON    = 1200 // a JSON parser
	costVersion = 800  // a version parser
	// costReady is the cost of checking whether an object is ready, costEach that
	// of each value in its status. Conditions have many.
	costReady = 2000
	costEach  = 200
	costLogs  = 4000 // looking up the logs of a Pod
)
