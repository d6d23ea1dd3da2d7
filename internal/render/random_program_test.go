package render

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

var (
	randomPrograms = flag.Int("programs", 60_000, "how many random programs to compare with text/template")
	randomSeed     = flag.Uint64("seed", 1, "what random programs are drawn from; 0 means a fresh seed")
)

// TestRandomProgramsMatchTextTemplate makes random programs of every control
// structure and executes them here and with text/template. Their output must
// agree to the letter. A failure prints the program.
func TestRandomProgramsMatchTextTemplate(t *testing.T) {
	seed := *randomSeed
	if seed == 0 {
		seed = rand.Uint64() //nolint:gosec // nothing secret
	}
	functions := template.FuncMap{"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln}
	sprigs := sprig.TxtFuncMap()
	for _, name := range strings.Fields("append b64enc cat concat contains default dict has initial join list lower nospace " +
		"replace rest reverse sha256sum ternary title trim trimSuffix upper") {
		functions[name] = sprigs[name]
	}
	var made allowance
	for name, function := range functions {
		functions[name] = made.limit(function)
	}
	base := template.New("").Funcs(functions)
	for i, failed := 0, 0; i < *randomPrograms && failed < 5; i++ {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(i)))} //nolint:gosec // nothing secret
		text := g.program()
		made = 0
		want, err := textTemplate(base, text)
		if errors.Is(err, errTooMuch) {
			continue
		}
		if err != nil {
			t.Fatalf("seed %d, program %d: the generator made what text/template refuses: %v\n%s", seed, i, err, text)
		}
		if got, err := executeText(text, programData); err != nil || got != want {
			t.Errorf("seed %d, program %d:\n%s\ntext/template: %q\nhere:          %q, %v", seed, i, text, want, got, err)
			failed++
		}
	}
}

// allowance is how many bytes the functions have made for a program. A loop that doubles a text would end text/template for want of
// memory, which here the budget prevents.
type allowance int

var errTooMuch = errors.New("a random program makes too much")

// limit returns the function, which panics where too much is made.
func (a *allowance) limit(function any) any {
	f := reflect.ValueOf(function)
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		call := f.Call
		if f.Type().IsVariadic() {
			call = f.CallSlice
		}
		results := call(args)
		switch made := reflect.ValueOf(results[0].Interface()); made.Kind() { //nolint:exhaustive // all others are small
		case reflect.String:
			*a += allowance(made.Len())
		case reflect.Slice, reflect.Map:
			*a += allowance(16 * made.Len())
		}
		if *a > 64<<20 {
			panic(errTooMuch)
		}
		return results
	}).Interface()
}

// textTemplate executes a template with text/template and the functions of base.
func textTemplate(base *template.Template, text string) (string, error) {
	std, err := base.Clone()
	if err == nil {
		std, err = std.Parse(text)
	}
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = std.Execute(&out, programData)
	return out.String(), err
}

// generator makes programs.
type generator struct {
	*rand.Rand
	defined []typedVar // define blocks so far, with what dot is in them
	blocks  int
	steps   int // nodes that may still be written
}

// program returns a template with some define blocks, each of which may call
// those before it.
func (g *generator) program() string {
	g.steps = 18
	var out strings.Builder
	for i := range g.IntN(3) {
		dot := oneOf(g.Rand, dataType.fields["deep"], textType, intType, listOf(textType), rootType)
		name := fmt.Sprintf("t%d", i)
		fmt.Fprintf(&out, "{{ define %q }}%s{{ end }}", name, g.list(place{dot: dot, dollar: dot}))
		g.defined = append(g.defined, typedVar{name, dot})
	}
	out.WriteString(g.list(place{dot: rootType, dollar: rootType}))
	return out.String()
}

// list returns some nodes. Variables that they declare stay to the end.
func (g *generator) list(p place) string {
	if p.depth++; p.depth > 4 {
		return "x"
	}
	var out strings.Builder
	for range 1 + g.IntN(4) {
		if g.steps--; g.steps < 0 {
			break
		}
		var node string
		node, p = g.node(p)
		out.WriteString(node)
	}
	return out.String()
}

// node returns a node and the place behind it.
func (g *generator) node(p place) (string, place) {
	switch g.IntN(14) {
	case 0:
		return oneOf(g.Rand, "text ", "<é>", " \n ", "", "{ }", "{{/* c */}}", " {{- /* c */ -}} "), p
	case 1, 2, 3:
		return g.action(g.expression(p, oneOf(g.Rand, scalars...), 0)), p
	case 4:
		return g.declare(p)
	case 5:
		return g.assign(p), p
	case 6:
		return g.branch("if", p), p
	case 7:
		return g.branch("with", p), p
	case 8, 9, 10:
		return g.loop(p), p
	case 11:
		return g.assigningLoop(p)
	case 12:
		return g.template(p), p
	}
	if p.inRange {
		return g.action(oneOf(g.Rand, "break", "continue")), p
	}
	return "-", p
}

// action writes delimiters, some of which trim.
func (g *generator) action(inside string) string {
	return oneOf(g.Rand, "{{ ", "{{ ", "{{- ") + inside + oneOf(g.Rand, " }}", " }}", " -}}")
}
