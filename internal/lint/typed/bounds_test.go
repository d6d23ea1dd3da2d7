package typed

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// many returns a text of about 256 KiB.
func many(f func(i int) string) string {
	var out strings.Builder
	for i := 0; out.Len() < 256<<10-100; i++ {
		out.WriteString(f(i))
	}
	return out.String()
}

func always(text string) func(int) string { return func(int) string { return text } }

// hard are templates that are much work, of 256 KiB each.
func hard() map[string]render.Source {
	deep := strings.Repeat("{{ range .spec.hosts }}", 150) + strings.Repeat("{{ .a }}{{ $.spec.x }}", 11000) + strings.Repeat("{{ end }}", 150)
	values := map[string]any{}
	for i := range 10_000 {
		values[fmt.Sprintf("value%d", i)] = []any{map[string]any{"a": int64(i)}}
	}
	var calls strings.Builder
	for i := range 60 {
		fmt.Fprintf(&calls, `{{ define "d%d" }}{{ include "d%d" (dict "a" .) }}{{ include "d%d" (list .) }}{{ end }}`, i, i+1, i+1)
	}
	calls.WriteString(`{{ define "d60" }}{{ .a.b.c }}{{ end }}`)
	return map[string]render.Source{
		"paths":             {Status: "a: " + many(always("{{.spec.image}}"))},
		"misspelled":        {Status: "a: " + many(func(i int) string { return fmt.Sprintf("{{.spec.abcdefghijklmnopqrstuvwxyz%d}}", i) })},
		"misspelled values": {Values: values, Status: "a: " + many(func(i int) string { return fmt.Sprintf("{{.values.valu%d}}{{ range .values }}{{ end }}", i) })},
		"nested":            {Status: "a: " + deep},
		"variables":         {Status: "a: " + many(func(i int) string { return fmt.Sprintf("{{ $v%d := .spec }}{{ if $v0 }}{{ $v0 }}{{ end }}", i) }), Children: nil},
		"growing": {Status: "{{ $d := dict }}{{ $x := .spec.xx }}{{ $y := .spec.yy }}a: " + many(func(i int) string {
			return fmt.Sprintf("{{ $d = set $d \"k%d\" 1 }}{{ $x = ternary $x $y true }}{{ $y = ternary $y $x true }}", i)
		})},
		"calls":       {Helpers: calls.String(), Status: "a: " + many(func(i int) string { return fmt.Sprintf(`{{ include "d0" (dict "k%d" .) }}`, i) })},
		"unused":      {Helpers: many(func(i int) string { return fmt.Sprintf(`{{ define "d%d" }}{{ end }}`, i) }), Values: values},
		"one line":    {Children: []syntax.Template{{Name: "a", Text: strings.Repeat("{{ .spec.image }} ", 7000)}}},
		"lines":       {Children: []syntax.Template{{Name: "a", Text: strings.Repeat("{{ 1 }}\n", 15000)}}},
		"documents":   {Children: []syntax.Template{{Name: "a", Text: strings.Repeat("---\na: b\n", 13000)}}},
		"fields":      {Children: []syntax.Template{{Name: "a", Text: "apiVersion: v1\nkind: Pod\n" + many(func(i int) string { return fmt.Sprintf("abcdef%05d: 1\n", i) })[:15*7000]}}},
		"brackets":    {Children: []syntax.Template{{Name: "a", Text: "apiVersion: v1\nkind: Pod\nspec: " + strings.Repeat("[", 60<<10)}}},
		"dashes":      {Children: []syntax.Template{{Name: "a", Text: "apiVersion: v1\nkind: Pod\nspec:\n" + strings.Repeat("- ", 60<<10)}}},
		"flow":        {Children: []syntax.Template{{Name: "a", Text: "apiVersion: v1\nkind: Pod\nspec: [" + many(always("a,"))[:120<<10] + "]"}}},
		"faults":      {Children: []syntax.Template{{Name: "a", Text: "a:\n" + strings.Repeat("{{ if .spec.x }}\n  a: 1\n{{ else }}\n  b: [1, {c: 2}]\n{{ end }}\n", 2000) + "\n  a: b: c\n"}}},
		"parentheses": {Status: "a: " + strings.Repeat("{{ "+strings.Repeat("(index ", 150)+".spec.hosts"+strings.Repeat(" 0)", 150)+" }}", 150)},
	}
}

// TestTypeCheckIsBounded checks templates that are much work. It tells the time, which does not decide.
func TestTypeCheckIsBounded(t *testing.T) {
	set := openapi.Join(known(t), openapi.BuiltIn())
	for why, source := range hard() {
		source.Related = []syntax.Template{{Name: "maps"}}
		program, err := render.Compile(source)
		if err != nil {
			t.Fatalf("%s: %v", why, err)
		}
		s := &v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "example.org/v1", Kind: "Shop"}}
		Check(nil, &v1.TemplateController{Spec: *s}, program, set) // what is read once is there
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start, cpu := time.Now(), spent()
		c := newChecker(nil, &v1.TemplateController{Spec: *s}, program, set)
		c.all()
		found := c.notes.Findings()
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		t.Logf("%s: %v, %v of processors, %d KiB, %d findings, %d steps", why, took.Round(time.Millisecond), (spent() - cpu).Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>10, len(found), c.notes.Steps)
		if len(found) > types.MaxNotes+1 || len(found) > types.MaxNotes && found[types.MaxNotes] != finding.More() {
			t.Errorf("%s: %d findings are too many", why, len(found))
		}
		if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 64 || c.notes.Steps > 2*types.MaxSteps {
			t.Errorf("%s: %d MiB and %d steps are too much", why, allocated, c.notes.Steps)
		}
	}
}

// FuzzCheck looks for templates that make the check panic or work without end.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{"a: {{ .spec.imag }}", "{{ range $i, $x := .spec.ports }}{{ $x.name }}{{ end }}", `{{ define "a" }}{{ include "a" (dict "a" .) }}{{ end }}{{ include "a" . }}`, "apiVersion: v1\nkind: Pod\nspec: {a: {{ 1 }}"} {
		f.Add(text, text, uint64(1))
	}
	f.Fuzz(func(t *testing.T, child, status string, seed uint64) {
		program, err := render.Compile(render.Source{Children: []syntax.Template{{Name: "a", Text: child}}, Status: status, Helpers: `{{ define "h" }}{{ .a.b }}{{ end }}`, Values: map[string]any{"a": []any{int64(1)}}})
		if err != nil {
			return
		}
		c := newChecker(nil, &v1.TemplateController{Spec: v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "v1", Kind: "Any"}}}, program, only{randomKind(seed)})
		c.all()
		for _, each := range c.notes.Findings() {
			if each.Line < 1 && each.Where != "spec.values.a" && each != finding.More() || each.Message == "" || each.Code == "" || each.Where == "" {
				t.Errorf("%+v", each)
			}
		}
		if c.notes.Steps > 2*types.MaxSteps {
			t.Errorf("%d steps", c.notes.Steps)
		}
	})
}
