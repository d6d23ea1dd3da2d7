package typed

import (
	"strings"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// arguments checks the arguments of a call, and reports whether the function can return a result.
func (e *evaluator) arguments(call *invocation, s *types.Signature) bool {
	fine := true
	for i, v := range call.args {
		if e.notes.Ended() {
			return fine
		}
		if !e.argument(call, i, v, s.Param(i)) {
			fine = false
		}
	}
	return fine
}

// argument reports whether argument i can be of the type of its parameter.
func (e *evaluator) argument(call *invocation, i int, v *types.Value, p types.Param) bool {
	switch {
	case v.Kinds == openapi.Null:
		if !p.Nil {
			e.lacksArgument(call, i, v)
		}
		return p.Nil
	case !p.Nil:
		e.mayLack(v, call.node(i))
	}
	if p.Kinds != 0 && !v.May(p.Kinds) {
		e.maybe(!p.Nil || v.Kinds&openapi.Null == 0, finding.Argument, e.at(call.node(i)), "%s: argument %d%s is %s, not %s%s", call.name.Ident, i+1, call.words(i), (v.Kinds &^ openapi.Null).Words(), p.Words, remedy(v, p))
		return false
	}
	if fault := p.Fault(v.Literal); fault != "" {
		e.errorf(finding.Argument, e.at(call.node(i)), "%s: argument %d%s is %s", call.name.Ident, i+1, call.words(i), fault)
		return false
	}
	return true
}

// words quotes a literal argument.
func (call *invocation) words(i int) string {
	if i >= len(call.nodes) {
		return ", the value before the |,"
	}
	return ", " + syntax.Excerpt(call.nodes[i]) + ","
}

// literalFirst are functions whose first argument is usually a literal, with the words for it.
var literalFirst = map[string]string{
	"hasPrefix": "the prefix", "hasSuffix": "the suffix", "trimPrefix": "the prefix", "trimSuffix": "the suffix", "contains": "the part", "splitList": "the separator", "required": "the message",
}

// swapped reports a literal last argument after one that is not literal.
func (e *evaluator) swapped(call *invocation) {
	first, known := literalFirst[call.name.Ident]
	if call.name.Ident == "replace" && len(call.nodes) == 3 && !written(call.nodes[0]) && written(call.nodes[1]) && written(call.nodes[2]) {
		e.warnf(finding.Order, e.at(call.name), "replace takes the string last; write replace %s %s %s", call.nodes[1], call.nodes[2], syntax.Excerpt(call.nodes[0]))
	}
	if known && len(call.nodes) == 2 && !written(call.nodes[0]) && call.args[0].Literal == nil && written(call.nodes[1]) {
		e.warnf(finding.Order, e.at(call.name), "%s takes %s first; write %s %s %s", call.name.Ident, first, call.name.Ident, call.nodes[1], syntax.Excerpt(call.nodes[0]))
	}
}

func remedy(v *types.Value, p types.Param) string {
	switch {
	case p.Kinds == types.Scalar && v.Kinds&(openapi.List|openapi.Map) != 0:
		return "; convert it with toJson"
	case p.Kinds == openapi.List && v.Kinds&^openapi.Null == openapi.Map:
		return "; convert it with keys or values"
	}
	return ""
}

// lacksArgument reports an argument that is always missing.
func (e *evaluator) lacksArgument(call *invocation, i int, v *types.Value) {
	e.fails(v.Notes...)
	if len(v.Notes) == 0 {
		e.errorf(finding.NoValue, e.at(call.node(i)), "%s: argument %d%s has no value; set it, or use default, required or if", call.name.Ident, i+1, call.words(i))
	}
}

// verbs has the kinds that each verb of a format accepts.
var verbs = map[byte]openapi.JSONTypes{
	'v': types.Scalar, 's': openapi.String, 'q': openapi.String | openapi.Integer, 't': openapi.Boolean, 'x': openapi.String | types.Numeric, 'X': openapi.String | types.Numeric,
	'e': types.Numeric, 'E': types.Numeric, 'f': types.Numeric, 'F': types.Numeric, 'g': types.Numeric, 'G': types.Numeric,
	'd': types.Numeric, 'b': types.Numeric, 'o': types.Numeric, 'c': types.Numeric, 'U': types.Numeric,
}

// printf compares the arguments with a literal format.
func printf(e *evaluator, call *invocation) *types.Value {
	format, written := call.text(0)
	if !written {
		return types.OfKinds(openapi.String)
	}
	used := 1
	for {
		_, rest, found := strings.Cut(format, "%")
		if !found {
			break
		}
		if strings.HasPrefix(rest, "%") {
			format = rest[1:]
			continue
		}
		rest = strings.TrimLeft(rest, "+- #0123456789.")
		if rest == "" {
			return types.OfKinds(openapi.String)
		}
		takes, known := verbs[rest[0]]
		switch {
		case !known:
			e.errorf(finding.Format, e.at(call.node(0)), "printf: the format has a directive that is not supported: %%%c; write one of the letters v s q d x X f F g G e E t c b o U", rest[0])
			return types.OfKinds(openapi.String)
		case used >= len(call.args):
			e.errorf(finding.Format, e.at(call.node(0)), "printf: the format has more directives than there are arguments")
			return types.OfKinds(openapi.String)
		case !call.args[used].May(takes):
			e.errorf(finding.Format, e.at(call.node(used)), "printf: argument %d%s is %s, which %%%c cannot format", used+1, call.words(used), (call.args[used].Kinds &^ openapi.Null).Words(), rest[0])
		}
		format = rest[1:]
		used++
	}
	if used < len(call.args) {
		e.errorf(finding.Format, e.at(call.node(used)), "printf: the format does not use argument %d%s", used+1, strings.TrimSuffix(call.words(used), ","))
	}
	return types.OfKinds(openapi.String)
}
