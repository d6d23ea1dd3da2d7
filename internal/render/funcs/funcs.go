// Package funcs has the functions that templates may call.
//
// The table in table.go lists them with their names, types, costs and docs; docs, checks and completion are derived from it. Shared code is in
// package data. Package render executes three of them itself: and, or and include.
package funcs

import (
	"slices"
	"strings"
	"sync"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// All lists every function of text/template and sprig and our own,
// allowed or refused, sorted by name.
func All() []syntax.Function {
	all := syntax.Refused()
	for _, f := range functions {
		all = append(all, f.Function)
	}
	slices.SortFunc(all, func(a, b syntax.Function) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Lookup returns the function of a name that templates may call, or nil. It must not be changed.
func Lookup(name string) *data.Function { return functions[name] }

// Named returns the function that an identifier names, or nil if it is something else, or nothing that templates may call.
func Named(n parse.Node) *syntax.Function {
	if id, ok := n.(*parse.IdentifierNode); ok && id != nil {
		return Allowed()[id.Ident]
	}
	return nil
}

// Allowed returns what templates may call, by name. It must not be changed.
var Allowed = sync.OnceValue(func() map[string]*syntax.Function {
	all := make(map[string]*syntax.Function, len(functions))
	for name, f := range functions {
		all[name] = &f.Function
	}
	return all
})

// functions holds what templates may call, by name. It is filled before main
// starts and not changed afterwards.
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
		if other := functions[name+"f"]; other != nil && f.Yields == syntax.TypeWhole { // add and addf
			f.Fractions = other.Name
		}
	}
}

// paid returns a function that costs something beside its arguments and its result.
func paid(cost int, do func(*data.Call) any) func(*data.Call) any {
	return func(c *data.Call) any {
		if c.Err != nil || !c.Pay(cost) {
			return nil
		}
		return do(c)
	}
}

// What some functions cost, in units of work.
const (
	costJSON    = 1200 // a parser of JSON
	costVersion = 800  // a parser of a version
	// costReady is for asking whether an object is ready, costEach for each
	// value in its status, of which there are many in conditions.
	costReady = 2000
	costEach  = 200
	costLogs  = 4000 // for looking up what is known of a Pod's logs
)
