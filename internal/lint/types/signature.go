package types

import (
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Signature describes the parameters and the result of a function.
type Signature struct {
	*syntax.Function
	params []Param
	rest   Param // type of all further arguments
	Result openapi.JSONTypes
	item   openapi.JSONTypes // item kinds of a returned list or map; 0 = any
}

// SignatureOf returns the signature of a function, or nil if the function is unknown.
func SignatureOf(function string) *Signature { return signatures()[function] }

// Param describes a parameter.
type Param struct {
	Kinds openapi.JSONTypes // 0 = any
	Words string
	whole bool // must be an integer, or a string with a decimal integer
	num   bool // a string must be a number
	Nil   bool // can be missing
}

// Fault returns the error of a literal argument, or "".
func (p Param) Fault(lit any) string {
	switch lit := lit.(type) {
	case string:
		text := strings.TrimSpace(lit)
		if _, err := strconv.ParseInt(text, 10, 64); p.whole && err != nil {
			return "text that is not a whole decimal number"
		}
		if _, err := strconv.ParseFloat(text, 64); p.num && err != nil {
			return "text that is not a number"
		}
	case float64:
		if p.whole && lit != math.Trunc(lit) {
			return "not a whole number"
		}
	}
	return ""
}

// Param returns the parameter for argument i.
func (s *Signature) Param(i int) Param {
	if i < len(s.params) {
		return s.params[i]
	}
	return s.rest
}

// Yield returns the result type of a function, as far as it does not depend on arguments.
func (s *Signature) Yield() *Value {
	switch {
	case s.Result == 0:
		return Anything
	case s.item != 0 && s.Result == openapi.Map:
		return &Value{Kinds: openapi.Map, Item: OfKinds(s.item)}
	case s.item != 0:
		return ListOf(OfKinds(s.item))
	}
	return OfKinds(s.Result)
}

// params say what the types of arguments mean, but for those that may be missing: see newParam.
var params = map[syntax.Type]Param{
	syntax.TypeAny:       {},
	syntax.TypeText:      {Kinds: Scalar, Words: "text"},
	syntax.TypeWhole:     {Kinds: openapi.String | Numeric, Words: "a whole number", whole: true},
	syntax.TypeNumber:    {Kinds: openapi.String | Numeric, Words: "a number", num: true},
	syntax.TypeBoolean:   {Kinds: openapi.Boolean, Words: "a boolean"},
	syntax.TypeList:      {Kinds: openapi.List, Words: "a list"},
	syntax.TypeMap:       {Kinds: openapi.Map, Words: "a map"},
	syntax.TypeSequence:  {Kinds: openapi.String | openapi.List, Words: "a list or a string"},
	syntax.TypeContainer: {Kinds: openapi.String | openapi.List | openapi.Map, Words: "a list, a map or a string"},
	syntax.TypeOrdered:   {Kinds: openapi.String | Numeric, Words: "a number or a string"},
}

// What functions that take arguments of many kinds ask of one of them.
var (
	TextParam  = params[syntax.TypeText]
	WholeParam = params[syntax.TypeWhole]
)

// newParam returns the parameter for a type name.
func newParam(t syntax.Type) Param {
	if !t.Nil() {
		return params[t]
	}
	p := params[t-'A'+'a']
	p.Nil = true
	return p
}

// yielded maps names of result types to kinds.
var yielded = map[syntax.Type]openapi.JSONTypes{
	syntax.TypeText: openapi.String, syntax.TypeWhole: openapi.Integer, syntax.TypeFloat: openapi.Number,
	syntax.TypeBoolean: openapi.Boolean, syntax.TypeList: openapi.List, syntax.TypeMap: openapi.Map,
}

// signatures has the signatures of all functions by name.
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
