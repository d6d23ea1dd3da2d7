package render

import "fmt"

// someType is of values worth declaring.
func (g *generator) someType() *typ {
	return oneOf(g.Rand, textType, intType, floatType, boolType, listOf(textType), listOf(intType), mapOf(textType), dataType.fields["deep"])
}

func (g *generator) declare(p place) (string, place) {
	name, t := g.newName(), g.someType()
	return g.action(name + " := " + g.expression(p, t, 0)), p.with(name, t)
}

// assign changes a variable to another value of its type.
func (g *generator) assign(p place) string {
	if len(p.vars) == 0 {
		return ""
	}
	v := oneOf(g.Rand, p.vars...)
	if v.typ == truthType || g.operand(p, v.typ) == "" || hidden(p, v) {
		return ""
	}
	return g.action(v.name + " = " + g.expression(p, v.typ, 0))
}

// hidden reports whether a later variable has the name of v.
func hidden(p place, v typedVar) bool {
	for _, other := range p.vars {
		if other.name == v.name && other.typ != v.typ {
			return true
		}
	}
	return false
}

// condition returns a pipeline, its type, and the place within the block.
func (g *generator) condition(p place) (string, *typ, place) {
	t := g.someType()
	text := g.expression(p, t, 1)
	if g.IntN(4) == 0 {
		text, t = g.anything(p)
	}
	if g.IntN(3) == 0 {
		name := g.newName()
		return name + " := " + text, t, p.with(name, t)
	}
	return text, t, p
}

// branch returns an if or a with, maybe with some else.
func (g *generator) branch(keyword string, p place) string {
	pipe, t, inner := g.condition(p)
	body := inner
	if keyword == "with" {
		body.dot = t
	}
	out := g.action(keyword+" "+pipe) + g.list(body)
	switch g.IntN(3) {
	case 0:
		out += g.action("else") + g.list(inner)
	case 1:
		pipe, t, inner = g.condition(inner)
		body = inner
		if keyword == "with" {
			body.dot = t
		}
		out += g.action("else "+keyword+" "+pipe) + g.list(body) + g.action("else") + g.list(inner)
	}
	return out + g.action("end")
}

// loop returns a range, maybe with an else, in which its variables hold what
// it ranges over.
func (g *generator) loop(p place) string {
	over := oneOf(g.Rand, listOf(textType), listOf(textType), listOf(intType), listOf(listOf(textType)), mapOf(textType), intType, dataType.fields["records"])
	key, elem := intType, over.elem
	var pipe string
	switch over {
	case intType:
		// Larger numbers take long, and a range in a range longer.
		elem, pipe = intType, oneOf(g.Rand, "3", "0", "-1", `(len "ab")`)
	default:
		pipe = g.expression(p, over, 1)
	}
	if over.name == "map" {
		key = textType
	}
	body, other := p, p
	switch g.IntN(3) {
	case 0:
		name := g.newName()
		pipe, body, other = name+" := "+pipe, body.with(name, elem), other.with(name, over)
	case 1:
		if over != intType {
			k, v := g.newName(), g.newName()
			pipe = k + ", " + v + " := " + pipe
			body, other = body.with(k, key).with(v, elem), other.with(k, over).with(v, over)
		}
	}
	body.dot, body.inRange = elem, true
	out := g.action("range "+pipe) + g.list(body)
	if g.IntN(2) == 0 {
		out += g.action("else") + g.list(other)
	}
	return out + g.action("end")
}

// assigningLoop returns a range that assigns variables of its own, of which
// nobody can say afterwards what they hold.
func (g *generator) assigningLoop(p place) (string, place) {
	p = p.with("$a", truthType).with("$b", truthType)
	over := oneOf(g.Rand, listOf(textType), listOf(listOf(textType)), mapOf(textType))
	body := p
	body.dot, body.inRange = over.elem, true
	out := `{{ $a := 1 }}{{ $b := "" }}` + g.action("range "+oneOf(g.Rand, "$b = ", "$a, $b = ")+g.expression(p, over, 1)) + g.list(body)
	if g.IntN(2) == 0 {
		out += g.action("else") + g.list(p)
	}
	return out + g.action("end"), p
}

// template returns a call of a define block, or a block with its definition.
func (g *generator) template(p place) string {
	if len(g.defined) == 0 || g.IntN(4) == 0 {
		g.blocks++
		dot := oneOf(g.Rand, textType, intType, listOf(textType))
		return g.action(fmt.Sprintf("block \"b%d\" %s", g.blocks, g.expression(p, dot, 0))) + g.list(place{dot: dot, dollar: dot, depth: p.depth}) + g.action("end")
	}
	def := oneOf(g.Rand, g.defined...)
	return g.action(fmt.Sprintf("template %q %s", def.name, g.expression(p, def.typ, 0)))
}
