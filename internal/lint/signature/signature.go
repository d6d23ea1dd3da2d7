package signature

import (
	"math"
	"strconv"
	"strings"

	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Signature says what a function takes and yields.
type Signature struct {
	*syntax.Function
	params []Param
	rest   Param // of all further arguments
	Result schema.Kinds
	item   schema.Kinds // of a list or map that it yields; 0 = anything
}

// Of returns the signature of a function, or nil if there is no such function.
func Of(function string) *Signature { return signatures()[function] }

// Param says what an argument may be.
type Param struct {
	Kinds schema.Kinds // 0 = anything
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
func (s *Signature) Yield() *value.Value {
	switch {
	case s.Result == 0:
		return value.Anything
	case s.item != 0 && s.Result == schema.Map:
		return &value.Value{Kinds: schema.Map, Item: value.OfKinds(s.item)}
	case s.item != 0:
		return value.ListOf(value.OfKinds(s.item))
	}
	return value.OfKinds(s.Result)
}
