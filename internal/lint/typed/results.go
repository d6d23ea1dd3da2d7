package typed

import (
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// results tell more of what functions yield than their signatures do, and what is wrong with their arguments, by the first name of each. It is filled
// before main starts.
var results map[string]func(*checker, *invocation) *value.Value

func init() {
	results = map[string]func(*checker, *invocation) *value.Value{
		"default": fallback, "coalesce": coalesce, "ternary": ternary, "required": required, "not": not, "empty": emptied,
		"include": include, "printf": printf, "join": joinText, "len": length,
		"eq": equal, "ne": unequal, "lt": order, "le": order, "gt": order, "ge": order, "has": alike, "deepEqual": alike,
		"kindOf": kindText, "typeOf": kindText, "kindIs": isKind, "typeIs": isKind,
		"hasPrefix": textTest(strings.HasPrefix), "hasSuffix": textTest(strings.HasSuffix), "contains": textTest(strings.Contains),
		"dict": dict, "get": get, "hasKey": hasKey, "index": index, "dig": dig, "set": set, "unset": firstMap, "pick": firstMap, "omit": firstMap, "pluck": pluck,
		"list": listed, "append": appended, "concat": concat, "values": valuesOf, "first": item, "last": item, "slice": sliced,
		"rest": part, "initial": part, "reverse": part, "compact": part, "uniq": part, "without": part,
		"where": where, "whereNot": where, "collect": collect, "sortBy": sortBy, "named": named, "condition": condition,
		"deepCopy": func(_ *checker, call *invocation) *value.Value { return call.args[0].Present() },
	}
}

func appended(_ *checker, call *invocation) *value.Value {
	v, item := call.args[0], call.args[1]
	if v.Grows {
		return &value.Value{Kinds: schema.List, Item: value.Join(v.Item, item), Grows: true}
	}
	return value.ListOf(value.Join(v.Each(), item))
}

func fallback(c *checker, call *invocation) *value.Value {
	if len(call.args) < 2 {
		return c.noFallback(call)
	}
	v, w := call.args[0], call.args[1]
	c.provided(w)
	if len(call.nodes) == 2 && written(call.nodes[1]) && !written(call.nodes[0]) && w.Literal != "" {
		c.warnf(finding.Order, c.at(call.name), "default takes the fallback first, so this always yields %s; write default %s %s", call.nodes[1], call.nodes[1], call.nodes[0])
	}
	if w.Kinds == schema.Null || w.Literal == "" {
		return v
	}
	return value.Join(v, w.Present())
}

// noFallback notes a default with one argument, which it yields as it is.
func (c *checker) noFallback(call *invocation) *value.Value {
	v := *call.args[0]
	switch {
	case len(call.nodes) > 0 && !written(call.nodes[0]):
		c.warnf(finding.Order, c.at(call.name), "default has one argument, and nothing to fall back to; write default FALLBACK %s", syntax.Excerpt(call.nodes[0]))
	case len(call.nodes) == 0:
		c.warnf(finding.Order, c.at(call.name), "default has one argument, and nothing to fall back to; write VALUE | default FALLBACK")
	}
	v.Optional = nil // which is told, in better words
	return &v
}

// written reports whether an argument is a constant.
func written(n parse.Node) bool {
	switch n.(type) {
	case *parse.StringNode, *parse.NumberNode, *parse.BoolNode:
		return true
	}
	return false
}

func coalesce(c *checker, call *invocation) *value.Value {
	var v *value.Value
	for i, w := range call.args {
		if i+1 < len(call.args) {
			c.provided(w)
		}
		if w.Kinds != schema.Null {
			v = value.Join(v, w.Nullable())
		}
	}
	if v == nil {
		return value.Missing
	}
	bare := *v
	bare.Optional = nil
	return &bare
}

func ternary(_ *checker, call *invocation) *value.Value {
	return value.Join(call.args[0], call.args[1])
}

func required(_ *checker, call *invocation) *value.Value { return call.args[1].Present() }

func not(_ *checker, call *invocation) *value.Value {
	switch v := call.args[0]; {
	case v.Never():
		return value.Literal(true)
	case v.Always():
		return value.Literal(false)
	}
	return value.OfKinds(schema.Boolean)
}

func include(c *checker, call *invocation) *value.Value {
	name, written := call.text(0)
	if !written {
		c.anyName = true
		return value.OfKinds(schema.String)
	}
	c.call(name, call.args[1])
	return value.OfKinds(schema.String)
}

// joinText also takes a single text.
func joinText(c *checker, call *invocation) *value.Value {
	separator, all := call.args[0], call.args[1]
	switch {
	case separator.Kinds != 0 && separator.Kinds&^schema.Null == schema.List && all.Kinds&^schema.Null == schema.String:
		c.warnf(finding.Order, c.at(call.name), "join takes the separator first and the list last")
	case all.Kinds != 0 && all.Kinds&^schema.Null == schema.List && !separator.May(value.Scalar):
		c.errorf(finding.Argument, c.at(call.node(0)), "join: argument 1%s is %s, not text; the list comes last", call.words(0), separator.Kinds.Words())
	case all.Kinds == schema.Map:
		c.errorf(finding.Argument, c.at(call.node(1)), "join: argument 2%s is a map, not a list; keys and values make lists of it", call.words(1))
	}
	return value.OfKinds(schema.String)
}

func item(_ *checker, call *invocation) *value.Value {
	v := call.args[0]
	if v.Kinds == schema.Null {
		return value.Missing
	}
	found := *v.Each().Nullable()
	found.Literal = nil
	return &found
}

func part(_ *checker, call *invocation) *value.Value {
	v := call.args[0].Present()
	if v.Kinds != 0 && v.Kinds&schema.List == 0 {
		return value.Anything
	}
	w := *v
	w.Kinds, w.Data = schema.List, nil
	if v.Data != nil {
		w.Item = v.Each()
	}
	return &w
}

func sliced(_ *checker, call *invocation) *value.Value {
	v := call.args[0]
	if v.Kinds != 0 && v.Kinds&^schema.Null == schema.String {
		return value.OfKinds(schema.String)
	}
	return value.OfKinds((v.Kinds & (schema.String | schema.List)) &^ schema.Null)
}

func listed(_ *checker, call *invocation) *value.Value {
	if all := constants(call.args); all != nil {
		return all
	}
	var v *value.Value
	for _, w := range call.args {
		v = value.Join(v, w)
	}
	return value.ListOf(v)
}

// keysOf reads the path that argument i writes.
func keysOf(call *invocation, i int) []string {
	text, written := call.text(i)
	if !written {
		return nil
	}
	keys, _ := data.Path(text)
	return keys
}

// follow returns the value at the path that argument i writes, in each item of argument j.
func (c *checker) follow(call *invocation, i int, v *value.Value) *value.Value {
	keys := keysOf(call, i)
	if keys == nil {
		if text, written := call.text(i); written {
			c.errorf(finding.Argument, c.at(call.node(i)), "%s: argument %d, %q, is not %s", call.name.Ident, i+1, text, data.APath)
		}
		return value.Anything
	}
	if v.Kinds == schema.Null {
		return value.Missing
	}
	n, written := call.node(i).(*parse.StringNode)
	for _, key := range keys {
		at := c.at(call.node(i))
		if written {
			at = c.inString(n, key)
		}
		v = c.field(v, key, at)
	}
	return v
}

func where(c *checker, call *invocation) *value.Value {
	v := call.args[2]
	if w := ofOneKind(call); w != nil {
		return w
	}
	at := c.follow(call, 0, v.Each().Nullable()) // there may be no item at all
	c.neverEqual(call, at, call.args[1], 1)
	return part(c, &invocation{args: []*value.Value{v}})
}

// ofOneKind returns the objects of an entry of several kinds that are of the kind that is asked for, or nil.
func ofOneKind(call *invocation) *value.Value {
	path, _ := call.text(0)
	kind, _ := call.text(1)
	if path != "kind" || call.name.Ident != "where" {
		return nil
	}
	for _, w := range call.args[2].Each().Variants {
		if w.Origin != nil && w.Origin.Object == kind {
			return value.ListOf(w)
		}
	}
	return nil
}

// concat returns a list of what is in all lists.
func concat(_ *checker, call *invocation) *value.Value {
	var v *value.Value
	for _, w := range call.args {
		if !w.Never() {
			v = value.Join(v, w.Each())
		}
	}
	if v == nil {
		v = value.Anything
	}
	return value.ListOf(v)
}

func sortBy(c *checker, call *invocation) *value.Value {
	c.follow(call, 0, call.args[1].Each().Nullable())
	return part(c, &invocation{args: []*value.Value{call.args[1]}})
}

func collect(c *checker, call *invocation) *value.Value {
	found := *c.follow(call, 0, call.args[1].Each().Nullable()).Present()
	found.Notes = nil
	return value.ListOf(&found)
}

func named(_ *checker, call *invocation) *value.Value { return call.args[1].Each().Nullable() }

func condition(*checker, *invocation) *value.Value {
	return value.OfKinds(schema.String | schema.Boolean | schema.Null)
}
