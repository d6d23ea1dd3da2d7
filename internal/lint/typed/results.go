package typed

import (
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// results has functions that infer results more precisely than signatures, and check arguments, by function name. It is filled
// before main starts.
var results map[string]func(*evaluator, *invocation) *types.Value

func init() {
	results = map[string]func(*evaluator, *invocation) *types.Value{
		"default": fallback, "coalesce": coalesce, "ternary": ternary, "required": required, "not": not, "empty": emptied,
		"include": include, "printf": printf, "join": joinText, "len": length,
		"eq": equal, "ne": unequal, "lt": order, "le": order, "gt": order, "ge": order, "has": alike, "deepEqual": alike,
		"kindOf": kindText, "typeOf": kindText, "kindIs": isKind, "typeIs": isKind,
		"hasPrefix": textTest(strings.HasPrefix), "hasSuffix": textTest(strings.HasSuffix), "contains": textTest(strings.Contains),
		"dict": dict, "get": get, "hasKey": hasKey, "index": index, "dig": dig, "set": set, "unset": firstMap, "pick": firstMap, "omit": firstMap, "pluck": pluck,
		"list": listed, "append": appended, "concat": concat, "values": valuesOf, "first": item, "last": item, "slice": sliced,
		"rest": part, "initial": part, "reverse": part, "compact": compact, "uniq": part, "without": part,
		"where": where, "whereNot": where, "collect": collect, "sortBy": sortBy, "named": named, "condition": condition, "since": since,
		"after": delayed, "dateModify": delayed, "quantityCompare": quantities, "quantityAdd": quantities,
		"deepCopy": func(_ *evaluator, call *invocation) *types.Value { return call.args[0].Present() },
	}
}

func appended(_ *evaluator, call *invocation) *types.Value {
	v, item := call.args[0], call.args[1]
	if v.Grows {
		return &types.Value{Kinds: openapi.List, Item: types.Join(v.Item, item), Grows: true}
	}
	return types.ListOf(types.Join(v.Each(), item))
}

func fallback(e *evaluator, call *invocation) *types.Value {
	if len(call.args) < 2 {
		return e.noFallback(call)
	}
	v, w := call.args[0], call.args[1]
	e.provided(w)
	if len(call.nodes) == 2 && written(call.nodes[1]) && !written(call.nodes[0]) && w.Literal != "" {
		e.warnf(finding.Order, e.at(call.name), "default takes the fallback first, so this always yields %s; write default %s %s", call.nodes[1], call.nodes[1], call.nodes[0])
	}
	if w.Kinds == openapi.Null || w.Literal == "" {
		return v
	}
	return types.Join(v, w.Present())
}

// noFallback reports a default with one argument, which is returned unchanged.
func (e *evaluator) noFallback(call *invocation) *types.Value {
	v := *call.args[0]
	switch {
	case len(call.nodes) > 0 && !written(call.nodes[0]):
		e.warnf(finding.Order, e.at(call.name), "default has one argument and no fallback; write default FALLBACK %s", syntax.Excerpt(call.nodes[0]))
	case len(call.nodes) == 0:
		e.warnf(finding.Order, e.at(call.name), "default has one argument and no fallback; write VALUE | default FALLBACK")
	}
	v.Optional = nil // reported with a better message
	return &v
}

// written reports whether an argument is a literal.
func written(n parse.Node) bool {
	switch n.(type) {
	case *parse.StringNode, *parse.NumberNode, *parse.BoolNode:
		return true
	}
	return false
}

func coalesce(e *evaluator, call *invocation) *types.Value {
	var v *types.Value
	for i, w := range call.args {
		if i+1 < len(call.args) {
			e.provided(w)
		}
		if w.Kinds != openapi.Null {
			v = types.Join(v, w.Nullable())
		}
	}
	if v == nil {
		return types.Missing
	}
	bare := *v
	bare.Optional = nil
	return &bare
}

func ternary(_ *evaluator, call *invocation) *types.Value {
	return types.Join(call.args[0], call.args[1])
}

func required(_ *evaluator, call *invocation) *types.Value { return call.args[1].Present() }

func not(_ *evaluator, call *invocation) *types.Value {
	switch v := call.args[0]; {
	case v.Never():
		return types.Literal(true)
	case v.Always():
		return types.Literal(false)
	default:
		return negated(types.OfKinds(openapi.Boolean), v)
	}
}

func include(e *evaluator, call *invocation) *types.Value {
	name, written := call.text(0)
	if !written {
		e.anyName = true
		return types.OfKinds(openapi.String)
	}
	e.include(name, call.args[1])
	return types.OfKinds(openapi.String)
}

// joinText also accepts a single string.
func joinText(e *evaluator, call *invocation) *types.Value {
	separator, all := call.args[0], call.args[1]
	switch {
	case separator.Kinds != 0 && separator.Kinds&^openapi.Null == openapi.List && all.Kinds&^openapi.Null == openapi.String:
		e.warnf(finding.Order, e.at(call.name), "join takes the separator first and the list last")
	case all.Kinds != 0 && all.Kinds&^openapi.Null == openapi.List && !separator.May(types.Scalar):
		e.errorf(finding.Argument, e.at(call.node(0)), "join: argument 1%s is %s, not text; the list comes last", call.words(0), separator.Kinds.Words())
	case all.Kinds == openapi.Map:
		e.errorf(finding.Argument, e.at(call.node(1)), "join: argument 2%s is a map, not a list; convert it with keys or values", call.words(1))
	}
	return types.OfKinds(openapi.String)
}

func item(_ *evaluator, call *invocation) *types.Value {
	v := call.args[0]
	if v.Kinds == openapi.Null {
		return types.Missing
	}
	found := *v.Each().Nullable()
	found.Literal = nil
	return &found
}

func part(_ *evaluator, call *invocation) *types.Value {
	v := call.args[0].Present()
	if v.Kinds != 0 && v.Kinds&openapi.List == 0 {
		return types.Anything
	}
	w := *v
	w.Kinds, w.Data = openapi.List, nil
	if v.Data != nil {
		w.Item = v.Each()
	}
	return &w
}

// compact is part without empty and missing items.
func compact(e *evaluator, call *invocation) *types.Value {
	v := *part(e, call)
	if v.Item != nil {
		v.Item = v.Item.Present()
	}
	return &v
}

func sliced(_ *evaluator, call *invocation) *types.Value {
	v := call.args[0]
	if v.Kinds != 0 && v.Kinds&^openapi.Null == openapi.String {
		return types.OfKinds(openapi.String)
	}
	return types.OfKinds((v.Kinds & (openapi.String | openapi.List)) &^ openapi.Null)
}

func listed(_ *evaluator, call *invocation) *types.Value {
	if all := constants(call.args); all != nil {
		return all
	}
	var v *types.Value
	for _, w := range call.args {
		v = types.Join(v, w)
	}
	return types.ListOf(v)
}

// keysOf returns the keys of the literal path in argument i.
func keysOf(call *invocation, i int) []string {
	text, written := call.text(i)
	if !written {
		return nil
	}
	keys, _ := data.Path(text)
	return keys
}

// follow returns the value at the path in argument i, in each item of argument j.
func (e *evaluator) follow(call *invocation, i int, v *types.Value) *types.Value {
	keys := keysOf(call, i)
	if keys == nil {
		if text, written := call.text(i); written {
			e.errorf(finding.Argument, e.at(call.node(i)), "%s: argument %d, %q, is not %s", call.name.Ident, i+1, text, data.APath)
		}
		return types.Anything
	}
	if v.Kinds == openapi.Null {
		return types.Missing
	}
	n, written := call.node(i).(*parse.StringNode)
	for _, key := range keys {
		at := e.at(call.node(i))
		if written {
			at = e.inString(n, key)
		}
		v = e.field(v, key, at)
	}
	return v
}

func where(e *evaluator, call *invocation) *types.Value {
	v := call.args[2]
	if w := ofOneKind(call); w != nil {
		return w
	}
	at := e.follow(call, 0, v.Each().Nullable()) // the list can be empty
	e.neverEqual(call, at, call.args[1], 1)
	return part(e, &invocation{args: []*types.Value{v}})
}

// ofOneKind returns the objects of the requested kind, for an entry with several kinds, or nil.
func ofOneKind(call *invocation) *types.Value {
	path, _ := call.text(0)
	kind, _ := call.text(1)
	if path != "kind" || call.name.Ident != "where" {
		return nil
	}
	for _, w := range call.args[2].Each().Variants {
		if w.Origin != nil && w.Origin.Object == kind {
			return types.ListOf(w)
		}
	}
	return nil
}

// concat returns a list with the items of all lists.
func concat(_ *evaluator, call *invocation) *types.Value {
	var v *types.Value
	for _, w := range call.args {
		if !w.Never() {
			v = types.Join(v, w.Each())
		}
	}
	if v == nil {
		v = types.Anything
	}
	return types.ListOf(v)
}

func sortBy(e *evaluator, call *invocation) *types.Value {
	e.follow(call, 0, call.args[1].Each().Nullable())
	return part(e, &invocation{args: []*types.Value{call.args[1]}})
}

func collect(e *evaluator, call *invocation) *types.Value {
	found := *e.follow(call, 0, call.args[1].Each().Nullable()).Present()
	found.Notes = nil
	return types.ListOf(&found)
}

func named(_ *evaluator, call *invocation) *types.Value { return call.args[1].Each().Nullable() }

func condition(*evaluator, *invocation) *types.Value {
	return types.OfKinds(openapi.String | openapi.Boolean | openapi.Null)
}

func since(*evaluator, *invocation) *types.Value {
	return types.OfKinds(openapi.String | openapi.Null)
}

// delayed checks the duration in the first argument.
func delayed(e *evaluator, call *invocation) *types.Value {
	if text, written := call.text(0); written && !funcs.IsDuration(text) {
		e.errorf(finding.Argument, e.at(call.node(0)), "%s: argument 1%s is not %s", call.name.Ident, call.words(0), funcs.Duration)
	}
	return types.SignatureOf(call.name.Ident).Yield()
}

// quantities checks that all arguments that are literals are quantities.
func quantities(e *evaluator, call *invocation) *types.Value {
	for i := range call.args {
		text, written := call.text(i)
		if _, err := funcs.ParseQuantity(text); written && err != nil {
			e.errorf(finding.Argument, e.at(call.node(i)), "%s: argument %d%s is not %s", call.name.Ident, i+1, call.words(i), funcs.Quantity)
		}
	}
	return types.SignatureOf(call.name.Ident).Yield()
}
