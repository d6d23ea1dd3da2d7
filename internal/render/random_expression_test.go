package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// expression returns an expression of that type, in parentheses where it may
// be an argument.
func (g *generator) expression(p place, t *typ, depth int) string {
	if operand := g.operand(p, t); operand != "" && (depth > 1 || g.IntN(2) == 0) {
		return operand
	}
	if depth > 2 {
		return g.literal(t)
	}
	switch g.IntN(8) {
	case 0:
		return g.literal(t)
	case 1:
		return "(" + oneOf(g.Rand, "and", "or") + " " + g.expression(p, t, depth+1) + " " + g.expression(p, t, depth+1) + ")"
	case 2:
		return "(ternary " + g.expression(p, t, depth+1) + " " + g.expression(p, t, depth+1) + " " + g.expression(p, boolType, depth+1) + ")"
	case 3:
		return "(" + g.expression(p, t, depth+1) + " | " + oneOf(g.Rand, "or", "and") + " " + g.expression(p, t, depth+1) + ")"
	}
	return g.call(p, t, depth+1)
}

// literal returns a constant, or something else that is always there.
func (g *generator) literal(t *typ) string {
	switch t.name {
	case "text":
		return oneOf(g.Rand, `"x"`, `""`, `"<é>"`, "`raw \\n`", `"a b"`, `"%d"`, `"\"q\"\t"`)
	case "int":
		return oneOf(g.Rand, "0", "1", "-3", "0x1F", "1_000", "'a'", "9223372036854775807")
	case "float":
		return oneOf(g.Rand, "0.5", "-1.25", "1e3", "0x1p-2", "0.0")
	case "bool":
		return oneOf(g.Rand, "true", "false")
	case "list":
		return "(list" + strings.Repeat(" "+g.literal(t.elem), g.IntN(3)) + ")"
	case "map":
		return oneOf(g.Rand, "(dict)", `(dict "k" `+g.literal(t.elem)+`)`)
	case "record":
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(t.fields)) {
			fmt.Fprintf(&out, " %q %s", name, g.literal(t.fields[name]))
		}
		return "(dict" + out.String() + ")"
	}
	return "false"
}

// call returns the call of a function that yields that type.
func (g *generator) call(p place, t *typ, depth int) string {
	text := func() string { return g.expression(p, textType, depth) }
	texts := func() string { return g.expression(p, listOf(textType), depth) }
	switch t.name {
	case "text":
		return "(" + g.textCall(p, depth, text, texts) + ")"
	case "int":
		return "(" + oneOf(g.Rand,
			"len "+text(), "len "+texts(), "len "+g.expression(p, mapOf(textType), depth), texts()+" | len",
			"len (println "+text()+" "+g.expression(p, intType, depth)+")",
		) + ")"
	case "bool":
		return "(" + g.boolCall(p, depth) + ")"
	case "list":
		list := g.expression(p, t, depth)
		return "(" + oneOf(g.Rand,
			"list "+g.expression(p, t.elem, depth), "append "+list+" "+g.expression(p, t.elem, depth), "rest "+list, "reverse "+list, "initial "+list,
			list+" | concat "+g.expression(p, t, depth), "default "+list+" "+g.expression(p, t, depth),
		) + ")"
	}
	return g.literal(t)
}

func (g *generator) textCall(p place, depth int, text, texts func() string) string {
	switch g.IntN(9) {
	case 0:
		return oneOf(g.Rand, "print", "html", "js", "urlquery") + g.operands(p, depth)
	case 1, 2, 3:
		return g.printf(p, depth)
	case 4:
		return oneOf(g.Rand, "upper ", "lower ", "trim ", "nospace ", "b64enc ", "sha256sum ", "title ") + text()
	case 5:
		return text() + " | " + oneOf(g.Rand, "upper", `replace "a" "é"`, "default \"d\"", `trimSuffix "x"`, "print", "html", `printf "%s|%5d|%q" "c" 7`)
	case 6:
		return `join ` + oneOf(g.Rand, `"-"`, `""`) + " " + texts()
	case 7:
		return "slice " + oneOf(g.Rand, `"abc"`, `"text"`) + " " + oneOf(g.Rand, "", "0", "1", "1 2", "0 3", "3 3")
	}
	return "cat " + text() + " " + text()
}

// operands returns up to four arguments of all scalar types.
func (g *generator) operands(p place, depth int) string {
	var out strings.Builder
	for range g.IntN(4) {
		out.WriteString(" " + g.expression(p, oneOf(g.Rand, scalars...), depth))
	}
	return out.String()
}

func (g *generator) boolCall(p place, depth int) string {
	t := oneOf(g.Rand, scalars...)
	a, b := g.expression(p, t, depth), g.expression(p, t, depth)
	switch g.IntN(6) {
	case 0:
		if t != boolType {
			return oneOf(g.Rand, "lt", "le", "gt", "ge") + " " + a + " " + b
		}
		return "not " + a
	case 1:
		operand, _ := g.anything(p)
		return "not " + operand
	case 2:
		return oneOf(g.Rand, "ne "+a+" "+b, "eq "+a+" "+b+" "+a, a+" | eq "+b)
	case 3:
		return "contains " + g.expression(p, textType, depth) + " " + g.expression(p, textType, depth)
	case 4:
		return "has " + g.expression(p, textType, depth) + " " + g.expression(p, listOf(textType), depth)
	}
	return "eq " + a + " " + b
}

// printf returns a call with directives of every valid form.
func (g *generator) printf(p place, depth int) string {
	var format, args strings.Builder
	for range 1 + g.IntN(3) {
		t := oneOf(g.Rand, scalars...)
		format.WriteString(oneOf(g.Rand, "", "|", "é", "%%", " "))
		format.WriteString(g.directive(t))
		args.WriteString(" " + g.expression(p, t, depth))
	}
	return "printf " + strconv.Quote(format.String()) + args.String()
}

func (g *generator) directive(t *typ) string {
	var spec strings.Builder
	spec.WriteByte('%')
	for range g.IntN(3) {
		spec.WriteByte("+- #0"[g.IntN(5)])
	}
	if g.IntN(3) == 0 {
		spec.WriteString(strconv.Itoa(1 + g.IntN(12)))
	}
	if g.IntN(3) == 0 {
		spec.WriteByte('.')
		spec.WriteString(oneOf(g.Rand, "", "0", "1", "3"))
	}
	verbs := map[string]string{"text": "vsqxX", "int": "vdbocqxXU", "float": "veEfFgG", "bool": "tv"}[t.name]
	spec.WriteByte(verbs[g.IntN(len(verbs))])
	return spec.String()
}
