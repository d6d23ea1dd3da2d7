package render

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// outcome is what one execution yields.
type outcome struct {
	Objects []Object
	Error   string
	Left    string // of the budget
}

// outcomeOf renders the child x.
func outcomeOf(p *Program, in *Input) outcome {
	var out outcome
	u := p.children["x"]
	x := p.start(u, in)
	err := x.invoke("", &x.view.Root)
	if err == nil {
		err = u.shapes.Read(&x.Table, x.out.buf, func(d document.Document) error {
			content, err := d.Object()
			out.Objects = append(out.Objects, Object{Content: content, Line: x.line(d.Offset())})
			return err
		})
	}
	if err != nil { // finding out where takes work, too
		out.Error = x.mapped(x.located(err, u.Body())).Error()
		return out
	}
	out.Left = fmt.Sprint(x.Work+x.own.Left(), x.Output, x.Nodes)
	return out
}

// programOf compiles a template as the child x.
func programOf(t testing.TB, text string) *Program {
	t.Helper()
	p, err := Compile(Source{Helpers: injectableHelpers, Children: []syntax.Template{{Name: "x", Text: text}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestShapesDoNotChangeOutput renders with a program that has seen other parents
// and with a fresh one. Objects, errors and what is left of the budget must
// be the same.
func TestShapesDoNotChangeOutput(t *testing.T) {
	seen, parents := 0, [][4]string{{"a", "b", "k", "l"}, {"c", "d", "m", "n"}, {"a: b\n", "0777", "namespace", "x"}, {"", "\xff", "uid", "z\nz"}}
	for _, text := range seedTemplates(t) {
		if !strings.Contains(text, "apiVersion:") {
			text = "apiVersion: v1\nkind: A\n" + text
		}
		if _, err := Compile(Source{Helpers: injectableHelpers, Children: []syntax.Template{{Name: "x", Text: text}}}); err != nil {
			continue
		}
		p := programOf(t, text)
		for _, s := range append(parents, parents...) {
			in := &Input{Parent: parentWith(s)}
			known := p.children["x"].shapes.Outputs()
			got := outcomeOf(p, in)
			if len(got.Objects) > 0 && got.Error == "" && slices.Equal(p.children["x"].shapes.Outputs(), known) {
				seen++
			}
			if diff := cmp.Diff(outcomeOf(programOf(t, text), in), got); diff != "" {
				t.Errorf("%s\nwith %q (-fresh +used):\n%s", text, s, diff)
			}
		}
	}
	if seen < 1000 {
		t.Errorf("only %d times, the output was seen before", seen)
	}
}

// What package document keeps.
const (
	maxShapes    = 4
	maxShapeText = 16 << 10
	maxShapeList = 255 // items of a list of {}
)

// TestCachedShapesAreLimited renders output that must not be kept, or not for long.
func TestCachedShapesAreLimited(t *testing.T) {
	const object = "apiVersion: v1\nkind: A\n"
	for why, c := range map[string]struct {
		text string
		kept int
	}{
		"values are not in a shape":             {object + "a: {{ .spec.n }}\nb: {{ list .spec.n }}\n", 1},
		"a shape for each branch":               {object + "{{ if .spec.odd }}a: 1{{ end }}\n", 2},
		"no more shapes than there is room for": {object + "{{ range .spec.n }}a{{ . }}: {{ . }}\n{{ end }}", maxShapes},
		"text that is too long":                 {object + "a: {{ .spec.n }}" + strings.Repeat("x", maxShapeText), 0},
		"too many nodes":                        {object + "a:\n" + strings.Repeat("- {}\n", maxShapeList) + "b: {{ .spec.n }}", 0},
		"an error in the text":                  {object + "a: [ {{ .spec.n }}\n", 0},
		"an error in what it means":             {object + "a: 0777\nb: {{ .spec.n }}\n", 0},
	} {
		p := programOf(t, c.text)
		for i := range 20 {
			_, _ = p.Child("x", &Input{Parent: map[string]any{"spec": map[string]any{"n": int64(i), "odd": i%2 == 1}}})
		}
		kept := map[string]bool{}
		for _, output := range p.children["x"].shapes.Outputs() {
			kept[output] = true
		}
		if len(kept) != c.kept {
			t.Errorf("%s: %d shapes, want %d", why, len(kept), c.kept)
		}
	}
}

// TestShapesAreSafeForConcurrentUse renders a few shapes of all kinds of YAML from many
// goroutines. Run it with the race detector.
func TestShapesAreSafeForConcurrentUse(t *testing.T) {
	p := programOf(t, `apiVersion: v1
kind: A
{{ range .spec.n }}k{{ . }}: {{ $.spec.s }}
{{ end }}
a: &a !!str {{ .spec.s }}
b: [*a, {c: "a bang! {{ .spec.s }}"}]
d: |+
  {{ .spec.s }}
---
apiVersion: v1
kind: B
a: &b {c: {{ .spec.s }}}
b: {<<: *b, "d": '{{ .spec.s }}'}
`)
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 200 {
				s := fmt.Sprint(g, "-", i)
				in := &Input{Parent: map[string]any{"spec": map[string]any{"n": int64(i % (maxShapes + 2)), "s": s}}}
				objects, err := p.Child("x", in)
				if err != nil || len(objects) != 2 || objects[0].Content["d"] != s+"\n" {
					t.Errorf("%s: got %v, %v", s, objects, err)
				}
			}
		})
	}
	wg.Wait()
}
