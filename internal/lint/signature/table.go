package signature

import (
	"sync"

	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// params say what the types of arguments mean, but for those that may be missing: see newParam.
var params = map[syntax.Type]Param{
	syntax.TypeAny:       {},
	syntax.TypeText:      {Kinds: value.Scalar, Words: "text"},
	syntax.TypeWhole:     {Kinds: schema.String | value.Numeric, Words: "a whole number", whole: true},
	syntax.TypeNumber:    {Kinds: schema.String | value.Numeric, Words: "a number", num: true},
	syntax.TypeBoolean:   {Kinds: schema.Boolean, Words: "a boolean"},
	syntax.TypeList:      {Kinds: schema.List, Words: "a list"},
	syntax.TypeMap:       {Kinds: schema.Map, Words: "a map"},
	syntax.TypeSequence:  {Kinds: schema.String | schema.List, Words: "a list or a string"},
	syntax.TypeContainer: {Kinds: schema.String | schema.List | schema.Map, Words: "a list, a map or a string"},
	syntax.TypeOrdered:   {Kinds: schema.String | value.Numeric, Words: "a number or a string"},
}

// What functions that take arguments of many kinds ask of one of them.
var (
	Text  = params[syntax.TypeText]
	Whole = params[syntax.TypeWhole]
)

// newParam returns what an argument of a type may be.
func newParam(t syntax.Type) Param {
	if !t.Nil() {
		return params[t]
	}
	p := params[t-'A'+'a']
	p.Nil = true
	return p
}

// yielded are the kinds of results.
var yielded = map[syntax.Type]schema.Kinds{
	syntax.TypeText: schema.String, syntax.TypeWhole: schema.Integer, syntax.TypeFloat: schema.Number,
	syntax.TypeBoolean: schema.Boolean, syntax.TypeList: schema.List, syntax.TypeMap: schema.Map,
}

// signatures are those of all functions, by name.
var signatures = sync.OnceValue(func() map[string]*Signature {
	all := map[string]*Signature{}
	for name, f := range funcs.Allowed() {
		s := &Signature{Function: f, rest: newParam(f.More), Result: yielded[f.Yields], item: yielded[f.Items]}
		for _, t := range f.Takes {
			s.params = append(s.params, newParam(t))
		}
		all[name] = s
	}
	return all
})
