package typed

import (
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/render"
)

// results tell more of what functions yield than their signatures do, and what is wrong with their arguments. It is filled
// before main starts.
var results map[string]func(*checker, *invocation) *value

func init() {
	results = map[string]func(*checker, *invocation) *value{
		"default": fallback, "coalesce": coalesce, "ternary": ternary, "required": required, "not": not, "empty": emptied,
		"include": include, "printf": printf, "join": joinText,
		"eq": equal, "ne": unequal, "lt": order, "le": order, "gt": order, "ge": order, "has": alike, "mustHas": alike, "deepEqual": alike,
		"dict": dict, "get": get, "hasKey": hasKey, "index": index, "dig": dig, "set": set, "unset": firstMap, "pick": firstMap, "omit": firstMap, "pluck": pluck,
		"list": listed, "tuple": listed, "where": where, "whereNot": where, "collect": collect, "sortBy": sortBy, "named": named, "condition": condition,
		"concat": concat, "values": valuesOf,
	}
	for _, name := range []string{"kindIs", "typeIs", "typeIsLike"} {
		results[name] = isKind
	}
	results["kindOf"], results["typeOf"], results["len"] = kindText, kindText, length
	results["hasPrefix"], results["hasSuffix"], results["contains"] = textTest(strings.HasPrefix), textTest(strings.HasSuffix), textTest(strings.Contains)
	for _, name := range []string{"first", "mustFirst", "last", "mustLast"} {
		results[name] = item
	}
	for _, name := range []string{"rest", "mustRest", "initial", "mustInitial", "reverse", "mustReverse", "compact", "mustCompact", "uniq", "mustUniq", "without", "mustWithout"} {
		results[name] = part
	}
	for _, name := range appending {
		results[name] = appended
	}
	for _, name := range []string{"deepCopy", "mustDeepCopy"} {
		results[name] = func(_ *checker, call *invocation) *value { return call.args[0].present() }
	}
	for _, name := range []string{"slice", "mustSlice"} {
		results[name] = sliced
	}
}

// appending are functions that yield a list with one more item.
var appending = []string{"append", "push", "mustAppend", "mustPush"}

func appended(_ *checker, call *invocation) *value {
	v, item := call.args[0], call.args[1]
	if v.grows {
		return &value{kinds: list, item: join(v.item, item), grows: true}
	}
	return listOf(join(v.each(), item))
}

func fallback(c *checker, call *invocation) *value {
	if len(call.args) < 2 {
		return call.args[0]
	}
	v, w := call.args[0], call.args[1]
	if len(call.nodes) == 2 && written(call.nodes[1]) && !written(call.nodes[0]) && w.lit != "" {
		c.warnf(finding.Order, c.at(call.name), "default takes the fallback first, so this always yields %s; write default %s %s", call.nodes[1], call.nodes[1], call.nodes[0])
	}
	if w.kinds == null || w.lit == "" {
		return v
	}
	return join(v, w.present())
}

// written reports whether an argument is a constant.
func written(n parse.Node) bool {
	switch n.(type) {
	case *parse.StringNode, *parse.NumberNode, *parse.BoolNode:
		return true
	}
	return false
}

func coalesce(_ *checker, call *invocation) *value {
	var v *value
	for _, w := range call.args {
		if w.kinds != null {
			v = join(v, w.nullable())
		}
	}
	if v == nil {
		return missing
	}
	bare := *v
	bare.optional = nil
	return &bare
}

func ternary(_ *checker, call *invocation) *value { return join(call.args[0], call.args[1]) }

func required(_ *checker, call *invocation) *value { return call.args[1].present() }

func not(_ *checker, call *invocation) *value {
	switch v := call.args[0]; {
	case v.never():
		return literal(true)
	case v.always():
		return literal(false)
	}
	return ofKinds(boolean)
}

func include(c *checker, call *invocation) *value {
	name, written := call.text(0)
	if !written {
		c.anyName = true
		return ofKinds(str)
	}
	c.call(name, call.args[1])
	return ofKinds(str)
}

// joinText also takes a single text.
func joinText(c *checker, call *invocation) *value {
	separator, all := call.args[0], call.args[1]
	switch {
	case separator.kinds != 0 && separator.kinds&^null == list && all.kinds&^null == str:
		c.warnf(finding.Order, c.at(call.name), "join takes the separator first and the list last")
	case all.kinds != 0 && all.kinds&^null == list && !separator.may(scalar):
		c.errorf(finding.Argument, c.at(call.node(0)), "join: argument 1%s is %s, not text; the list comes last", call.words(0), separator.kinds.Words())
	case all.kinds == mapping:
		c.errorf(finding.Argument, c.at(call.node(1)), "join: argument 2%s is a map, not a list; keys and values make lists of it", call.words(1))
	}
	return ofKinds(str)
}

func item(_ *checker, call *invocation) *value {
	v := call.args[0]
	if v.kinds == null {
		return missing
	}
	found := *v.each().nullable()
	found.lit = nil
	return &found
}

func part(_ *checker, call *invocation) *value {
	v := call.args[0].present()
	if v.kinds != 0 && v.kinds&list == 0 {
		return anything
	}
	w := *v
	w.kinds, w.data = list, nil
	if v.data != nil {
		w.item = v.each()
	}
	return &w
}

func sliced(_ *checker, call *invocation) *value {
	v := call.args[0]
	if v.kinds != 0 && v.kinds&^null == str {
		return ofKinds(str)
	}
	return ofKinds((v.kinds & (str | list)) &^ null)
}

func listed(_ *checker, call *invocation) *value {
	if all := constants(call.args); all != nil {
		return all
	}
	var v *value
	for _, w := range call.args {
		v = join(v, w)
	}
	return listOf(v)
}

// keysOf reads the path that argument i writes.
func keysOf(call *invocation, i int) []string {
	text, written := call.text(i)
	if !written {
		return nil
	}
	keys, _ := render.Path(text)
	return keys
}

// follow returns the value at the path that argument i writes, in each item of argument j.
func (c *checker) follow(call *invocation, i int, v *value) *value {
	keys := keysOf(call, i)
	if keys == nil {
		if text, written := call.text(i); written {
			c.errorf(finding.Argument, c.at(call.node(i)), "%s: argument %d, %q, is not %s", call.name.Ident, i+1, text, render.APath)
		}
		return anything
	}
	if v.kinds == null {
		return missing
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

func where(c *checker, call *invocation) *value {
	v := call.args[2]
	if w := ofOneKind(call); w != nil {
		return w
	}
	at := c.follow(call, 0, v.each().nullable()) // there may be no item at all
	c.neverEqual(call, at, call.args[1], 1)
	return part(c, &invocation{args: []*value{v}})
}

// ofOneKind returns the objects of an entry of several kinds that are of the kind that is asked for, or nil.
func ofOneKind(call *invocation) *value {
	path, _ := call.text(0)
	kind, _ := call.text(1)
	if path != "kind" || call.name.Ident != "where" {
		return nil
	}
	for _, w := range call.args[2].each().variants {
		if w.origin != nil && w.origin.object == kind {
			return listOf(w)
		}
	}
	return nil
}

// concat returns a list of what is in all lists.
func concat(_ *checker, call *invocation) *value {
	var v *value
	for _, w := range call.args {
		if !w.never() {
			v = join(v, w.each())
		}
	}
	if v == nil {
		v = anything
	}
	return listOf(v)
}

func sortBy(c *checker, call *invocation) *value {
	c.follow(call, 0, call.args[1].each().nullable())
	return part(c, &invocation{args: []*value{call.args[1]}})
}

func collect(c *checker, call *invocation) *value {
	found := *c.follow(call, 0, call.args[1].each().nullable()).present()
	found.notes = nil
	return listOf(&found)
}

func named(_ *checker, call *invocation) *value { return call.args[1].each().nullable() }

func condition(*checker, *invocation) *value {
	return ofKinds(str | boolean | null)
}
