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

// Signature says what a function takes and yields.
type Signature struct {
	*syntax.Function
	params []Param
	rest   Param // of all further arguments
	Result openapi.Kinds
	item   openapi.Kinds // of a list or map that it yields; 0 = anything
}

// SignatureOf returns the signature of a function, or nil if there is no such function.
func SignatureOf(function string) *Signature { return signatures()[function] }

// Param says what an argument may be.
type Param struct {
	Kinds openapi.Kinds // 0 = anything
	Words string
	whole bool // a number must be whole, and a text the decimal of one
	num   bool // a text must be a number
	Nil   bool // it may be missing
}

// Fault says what is wrong with an argument that is written out, or "".
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

// Param returns what argument i may be.
func (s *Signature) Param(i int) Param {
	if i < len(s.params) {
		return s.params[i]
	}
	return s.rest
}

// Yield returns what a function yields, as far as only its name tells.
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
var yielded = map[syntax.Type]openapi.Kinds{
	syntax.TypeText: openapi.String, syntax.TypeWhole: openapi.Integer, syntax.TypeFloat: openapi.Number,
	syntax.TypeBoolean: openapi.Boolean, syntax.TypeList: openapi.List, syntax.TypeMap: openapi.Map,
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
