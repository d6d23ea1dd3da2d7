// Package funcs has the functions that templates may call: what they yield, what they cost, and what they do to text.
//
// Each file registers those of one kind. What all of them share is in package call. Three of them, and, or and include, need what
// executes templates: they are described here, and package render carries them out.
package funcs

import (
	"slices"
	"strings"
	"sync"

	"github.com/templater-dev/templater/internal/render/call"
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
func Lookup(name string) *call.Function { return functions[name] }

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
var functions = map[string]*call.Function{}

// group registers functions that have a source, a nil rule and a treatment of
// rendered text in common.
type group struct {
	source   string
	nilOK    bool
	rendered syntax.Treatment
}

// add registers a function under one or more names.
func (g group) add(names []string, minArgs, maxArgs int, doc string, do func(*call.Call) any) {
	for _, name := range names {
		functions[name] = &call.Function{
			Function: syntax.Function{Name: name, Source: g.source, Doc: doc, Nil: g.nilOK, Rendered: g.rendered, Min: minArgs, Max: maxArgs},
			Do:       do,
		}
	}
}

func names(n ...string) []string { return n }

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
