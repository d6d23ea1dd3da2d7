package render

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// typ is what the generator of random programs knows about a value. It makes
// only programs that text/template executes, too, so it must know that much.
type typ struct {
	name   string // text, int, float, bool, list, map, record or truth
	elem   *typ   // of a list or a map
	fields map[string]*typ
	below  []typedVar // the paths into a record, such as .a.b
}

var (
	textType  = &typ{name: "text"}
	intType   = &typ{name: "int"}
	floatType = &typ{name: "float"}
	boolType  = &typ{name: "bool"}
	// truthType is of values that may be a collection or one of its items:
	// the variables that a range assigns without declaring them.
	truthType = &typ{name: "truth"}
	scalars   = []*typ{textType, textType, intType, intType, floatType, boolType}
	rootType  = record("spec", dataType)
	dataType  = record(
		"s", textType, "t", textType, "empty", textType, "n", intType, "zero", intType, "low", intType, "f", floatType, "g", floatType,
		"yes", boolType, "no", boolType, "list", listOf(textType), "none", listOf(textType), "numbers", listOf(intType),
		"lists", listOf(listOf(textType)), "noLists", listOf(listOf(intType)), "map", mapOf(textType), "noMap", mapOf(intType),
		"deep", record("a", record("s", textType, "list", listOf(intType)), "n", intType),
		"records", listOf(record("s", textType, "n", intType, "list", listOf(textType))),
	)
)

// programData is data of that type.
var programData = map[string]any{"spec": map[string]any{
	"s": "text", "t": "a <b> 'c' & \"d\" é日%", "empty": "", "n": int64(3), "zero": int64(0), "low": int64(-12345), "f": 1.5, "g": -20.25,
	"yes": true, "no": false, "list": []any{"a", "b", "c"}, "none": []any{}, "numbers": []any{int64(2), int64(0), int64(-7)},
	"lists": []any{[]any{"x", "y"}, []any{}, []any{"z"}}, "noLists": []any{}, "map": map[string]any{"k": "v", "a b": "", "c": "w"}, "noMap": map[string]any{},
	"deep": map[string]any{"a": map[string]any{"s": "d", "list": []any{int64(1)}}, "n": int64(4)},
	"records": []any{
		map[string]any{"s": "r", "n": int64(1), "list": []any{}},
		map[string]any{"s": "", "n": int64(0), "list": []any{"u"}},
	},
}}

// collections are the types of lists and maps by their name and items, so that
// equal types are the same pointer.
var collections = map[string]map[*typ]*typ{"list": {}, "map": {}}

func listOf(elem *typ) *typ { return collection("list", elem) }

func mapOf(elem *typ) *typ { return collection("map", elem) }

func collection(name string, elem *typ) *typ {
	if collections[name][elem] == nil {
		collections[name][elem] = &typ{name: name, elem: elem}
	}
	return collections[name][elem]
}

func record(namesAndTypes ...any) *typ {
	t := &typ{name: "record", fields: map[string]*typ{}}
	for i := 0; i < len(namesAndTypes); i += 2 {
		name, field := namesAndTypes[i].(string), namesAndTypes[i+1].(*typ)
		t.fields[name] = field
		t.below = append(t.below, typedVar{"." + name, field})
		for _, below := range field.below {
			t.below = append(t.below, typedVar{"." + name + below.name, below.typ})
		}
	}
	return t
}

// place is what a program can name somewhere.
type place struct {
	dot, dollar *typ
	vars        []typedVar
	inRange     bool // so that break and continue may stand there
	depth       int
}

type typedVar struct {
	name string
	typ  *typ
}

// with returns the place with one more variable, which hides those of the
// same name.
func (p place) with(name string, t *typ) place {
	p.vars = append(slices.Clip(p.vars), typedVar{name, t})
	return p
}

// reach calls do with each operand that is there, such as .a.b, in two parts,
// and its type.
func (p place) reach(do func(name, path string, t *typ)) {
	paths := func(name string, t *typ) {
		for _, below := range t.below {
			do(name, below.name, below.typ)
		}
	}
	do(".", "", p.dot)
	paths("", p.dot)
	do("$", "", p.dollar)
	paths("$", p.dollar)
	for i, v := range p.vars {
		if !slices.ContainsFunc(p.vars[i+1:], func(later typedVar) bool { return later.name == v.name }) {
			do(v.name, "", v.typ)
			paths(v.name, v.typ)
		}
	}
}

// oneOf returns one of several things.
func oneOf[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// operand returns something of that type that stands at the place, or "".
func (g *generator) operand(p place, want *typ) string {
	found, operand := 0, ""
	p.reach(func(name, path string, t *typ) {
		if t == want {
			if found++; g.IntN(found) == 0 {
				operand = name + path
			}
		}
	})
	return operand
}

// anything returns some operand at the place and its type.
func (g *generator) anything(p place) (operand string, some *typ) {
	found := 0
	p.reach(func(name, path string, t *typ) {
		if found++; g.IntN(found) == 0 {
			operand, some = name+path, t
		}
	})
	return operand, some
}

// newName returns a name for a variable, often one that is taken.
func (g *generator) newName() string { return fmt.Sprintf("$v%d", g.IntN(4)) }
