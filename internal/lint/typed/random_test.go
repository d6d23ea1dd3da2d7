package typed

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/funcs"
)

var (
	randomTemplates = flag.Int("templates", 1500, "how many random templates to check and render")
	randomSeed      = flag.Uint64("seed", 1, "what random templates are drawn from")
)

// only is a set of one kind.
type only struct{ t *openapi.Type }

func (o only) Lookup(gvk.GroupVersionKind) (*openapi.Type, bool) { return o.t, true }

// draw makes random schemas, data for them, and templates over it.
type draw struct {
	*rand.Rand
	vars  int
	scope []string // variables
}

func choose[T any](d *draw, all ...T) T { return all[d.IntN(len(all))] }

var fieldNames = []string{"alpha", "beta", "gamma", "delta", "items", "name", "on", "count"}

// schema returns a random type.
func (d *draw) schema(depth int) *openapi.Type {
	switch k := d.IntN(10); {
	case k < 4 && depth < 4:
		t := &openapi.Type{Kinds: openapi.Map, Fields: map[string]openapi.Field{}, Open: d.IntN(8) == 0}
		for range 1 + d.IntN(4) {
			t.Fields[choose(d, fieldNames...)] = openapi.Field{Type: d.schema(depth + 1), Present: d.IntN(2) == 0}
		}
		return t
	case k < 5 && depth < 4:
		return &openapi.Type{Kinds: openapi.List, Items: d.schema(depth + 1)}
	case k < 6 && depth < 4:
		return &openapi.Type{Kinds: openapi.Map, Items: d.schema(depth + 1)}
	case k == 6:
		return &openapi.Type{Kinds: openapi.String, Enum: []string{"One", "Two"}}
	case k == 7:
		return choose(d, &openapi.Type{Kinds: openapi.Boolean}, &openapi.Type{Kinds: openapi.Boolean | openapi.Null})
	case k == 8:
		return choose(d, &openapi.Type{Kinds: openapi.Integer}, &openapi.Type{Kinds: openapi.Integer | openapi.Number}, &openapi.Type{Kinds: openapi.Integer | openapi.String}, nil)
	}
	return &openapi.Type{Kinds: openapi.String}
}

// data returns data of a type.
func (d *draw) data(t *openapi.Type) any {
	if t == nil || t.Kinds == 0 {
		return choose[any](d, "x", int64(1), []any{"a"}, map[string]any{"name": "n"}, true)
	}
	if t.Kinds&openapi.Null != 0 && d.IntN(3) == 0 {
		return nil
	}
	switch {
	case t.Kinds&openapi.Map != 0:
		m := map[string]any{}
		for name, f := range t.Fields {
			if f.Present || d.IntN(3) > 0 {
				m[name] = d.data(f.Type)
			}
		}
		if t.Fields == nil || t.Open {
			for range d.IntN(3) {
				if name := choose(d, fieldNames...); m[name] == nil {
					if _, told := t.Fields[name]; !told {
						m[name] = d.data(t.Items)
					}
				}
			}
		}
		return m
	case t.Kinds&openapi.List != 0:
		all := make([]any, d.IntN(3))
		for i := range all {
			all[i] = d.data(t.Items)
		}
		return all
	case t.Kinds&openapi.Boolean != 0:
		return d.IntN(2) == 0
	case t.Enum != nil:
		return choose(d, t.Enum...)
	case t.Kinds&openapi.Integer != 0 && (t.Kinds&(openapi.Number|openapi.String) == 0 || d.IntN(2) == 0):
		return int64(d.IntN(4) - 1)
	case t.Kinds&openapi.Number != 0:
		return 1.5
	}
	return choose(d, "", "a", "3", "One")
}

// kind returns a random type of parents.
func (d *draw) kind() *openapi.Type {
	return &openapi.Type{Kinds: openapi.Map, Fields: map[string]openapi.Field{
		"spec":   {Type: &openapi.Type{Kinds: openapi.Map, Fields: map[string]openapi.Field{"alpha": {Type: d.schema(1)}, "beta": {Type: d.schema(1), Present: true}, "items": {Type: d.schema(2)}}}, Present: true},
		"status": {Type: d.schema(2)},
	}}
}

// randomKind returns a random type that contains itself.
func randomKind(seed uint64) *openapi.Type {
	d := &draw{Rand: rand.New(rand.NewPCG(seed, 0))}
	kind := d.kind()
	kind.Fields["spec"].Type.Fields["self"] = openapi.Field{Type: kind}
	return kind
}

// block returns a piece of a template.
func (d *draw) block(depth int) string {
	declared := len(d.scope)
	defer func() { d.scope = d.scope[:declared] }()
	var out strings.Builder
	for range 1 + d.IntN(3) {
		out.WriteString(d.action(depth))
	}
	return out.String()
}

func (d *draw) action(depth int) string {
	k := d.IntN(13)
	if depth > 2 && k > 5 {
		k = 0
	}
	switch k {
	case 12:
		d.vars++
		v := fmt.Sprintf("$l%d", d.vars)
		head := "{{ " + v + " := " + choose(d, "list", d.path()+" | default list") + " }}{{ range " + d.path() + " }}"
		d.scope = append(d.scope, v)
		grows := func() string { return "{{ " + v + " = append " + v + " " + choose(d, ".", d.path()) + " }}" }
		body := choose(d, "", d.block(depth+1)) + choose(d, grows(), "{{ if "+d.condition()+" }}"+grows()+"{{ end }}") + choose(d, "", d.block(depth+1), grows())
		return head + body + "{{ end }}{{ range " + v + " }}" + d.block(depth+1) + "{{ end }}"
	case 6:
		return "{{ if " + d.condition() + " }}" + d.block(depth+1) + "{{ else }}" + d.block(depth+1) + "{{ end }}"
	case 7:
		return "{{ with " + d.path() + " }}" + d.block(depth+1) + choose(d, "", "{{ else }}"+d.block(depth+1)) + "{{ end }}"
	case 8:
		return "{{ range " + d.path() + " }}" + d.block(depth+1) + "{{ end }}"
	case 9:
		d.vars++
		i, v := fmt.Sprintf("$i%d", d.vars), fmt.Sprintf("$v%d", d.vars)
		head := "{{ range " + i + ", " + v + " := " + d.path() + " }}"
		d.scope = append(d.scope, i, v)
		return head + d.block(depth+1) + "{{ end }}"
	case 3, 10:
		d.vars++
		v := fmt.Sprintf("$v%d", d.vars)
		text := "{{ " + v + " := " + d.expression(0) + " }}"
		d.scope = append(d.scope, v)
		return text
	case 4, 11:
		if len(d.scope) > 0 {
			return "{{ " + choose(d, d.scope...) + " = " + d.expression(0) + " }}"
		}
	case 5:
		return `{{ include "` + choose(d, "one", "two") + `" ` + d.expression(1) + " }}"
	}
	return "{{ " + d.expression(0) + " }}"
}

func (d *draw) condition() string {
	switch d.IntN(6) {
	case 5:
		return d.guard(d.path())
	case 0:
		return "not " + d.path()
	case 1:
		return "eq " + d.path() + " " + choose(d, `"One"`, `"a"`, `1`, `true`)
	case 2:
		return choose(d, "and ", "or ") + d.path() + " " + d.path()
	}
	return d.path()
}

// guard returns a condition on what something is. It fails for none that are there.
func (d *draw) guard(of string) string {
	return choose(d,
		`kindIs "`+choose(d, "string", "map", "slice", "int64", "bool")+`" `+of, `typeIs "string" `+of, `eq (kindOf `+of+`) "`+choose(d, "string", "map", "float64")+`"`,
		`has `+of+` (list "a" "One" 1)`, `empty `+of, `and (kindIs "string" `+of+`) (`+choose(d, `hasPrefix "a" `, `contains "n" `, `hasSuffix "e" `)+of+`)`,
		`and (kindIs "int64" `+of+`) (`+choose(d, "lt", "le", "gt", "ge")+` `+of+` 1)`, `gt (len (`+of+` | default list)) `+choose(d, "0", "1"),
	)
}

// guarded returns a define block that looks at its dot, or at a part of it, before it uses it.
func (d *draw) guarded(name string) string {
	of := choose(d, ".", ".", ".name", ".alpha")
	if of != "." && d.IntN(2) == 0 {
		of = "(" + of + ` | default "a")`
	}
	uses := func() string {
		switch d.IntN(5) {
		case 0:
			return d.block(2)
		case 1:
			return "{{ (" + of + ")." + choose(d, fieldNames...) + " }}"
		}
		return "{{ " + choose(d, "upper ", "toJson ", "add1 ", "first ", "keys ", "len ", "not ") + of + " }}"
	}
	return `{{ define "` + name + `" }}{{ if ` + d.guard(of) + ` }}` + uses() + choose(d, "", "{{ else if "+d.guard(of)+" }}"+uses()) + `{{ else }}` + uses() + `{{ end }}{{ end }}`
}

// calls calls a define block with several dots.
func (d *draw) calls(name string) string {
	var out strings.Builder
	for range 2 + d.IntN(2) {
		dot := choose(d, d.constant(), `(dict "name" `+d.constant()+` "alpha" `+d.constant()+`)`, `(dict "alpha" (list `+d.constant()+`))`, d.path())
		out.WriteString(`{{ include "` + name + `" ` + dot + ` }}`)
	}
	return out.String()
}

// path returns what there may be, or not.
func (d *draw) path() string {
	root := choose(d, ".spec", ".spec", ".parent.spec", ".", "$", "$.spec", ".status")
	if len(d.scope) > 0 && d.IntN(2) == 0 {
		root = choose(d, d.scope...)
	}
	var out strings.Builder
	for range d.IntN(4) {
		out.WriteString("." + choose(d, fieldNames...))
	}
	if root == "." {
		return choose(d, ".", strings.TrimPrefix("."+out.String(), "."), ".name")
	}
	return root + out.String()
}

var callable = func() (all []callee) {
	for _, f := range funcs.All() {
		if f.Refused == "" && f.Name != "fail" && f.Name != "wait" && f.Name != "include" && f.Name != "required" {
			all = append(all, callee{f.Name, f.Min, f.Max})
		}
	}
	return all
}()

type callee struct {
	name     string
	min, max int
}

var often = []string{"default", "first", "where", "index", "get", "dict", "list", "join", "eq", "len", "toYaml", "collect", "dig", "hasKey", "ternary", "coalesce", "printf", "quote", "keys", "append", "named", "and", "or", "last", "concat", "set", "merge"}

func (d *draw) expression(depth int) string {
	if depth > 2 || d.IntN(2) == 0 {
		if d.IntN(4) == 0 {
			return d.constant()
		}
		return d.path()
	}
	f := choose(d, callable...)
	if d.IntN(2) == 0 {
		name := choose(d, often...)
		f = callable[slices.IndexFunc(callable, func(r callee) bool { return r.name == name })]
	}
	n := f.min + d.IntN(2)
	if f.max >= 0 {
		n = min(n, f.max)
	}
	if f.name == "dict" {
		n = 2 * d.IntN(3)
	}
	words := []string{f.name}
	for i := range n {
		switch {
		case i == 0 && (f.name == "where" || f.name == "collect"), f.name == "dict" && i%2 == 0, i > 0 && (f.name == "index" || f.name == "get" || f.name == "hasKey"):
			words = append(words, choose(d, `"alpha"`, `"name"`, `"beta.gamma"`, `"count"`))
		case i == 0 && (f.name == "and" || f.name == "or"):
			words = append(words, d.path())
		case f.name == "printf" && i == 0:
			words = append(words, choose(d, `"%s"`, `"%d"`, `"%v"`))
		default:
			words = append(words, d.expression(depth+1))
		}
	}
	return "(" + strings.Join(words, " ") + ")"
}

func (d *draw) constant() string {
	return choose(d, `"a"`, `""`, `1`, `0`, `true`, `false`, `"3"`, `1.5`, `nil`, `(list)`, `(dict "name" 1)`)
}

// TestRenderableTemplatesHaveNoErrors makes random schemas and templates over them. A template that renders with all data that is
// drawn from the schema has no error.
func TestRenderableTemplatesHaveNoErrors(t *testing.T) {
	const draws = 60
	errors, fine, failing := 0, 0, 0
	for i := range *randomTemplates {
		d := &draw{Rand: rand.New(rand.NewPCG(*randomSeed, uint64(i)))}
		kind := d.kind()
		source := render.Source{Logs: true, Helpers: `{{ define "one" }}` + d.block(2) + `{{ end }}{{ define "two" }}` + d.block(2) + `{{ end }}`}
		source.Helpers += d.guarded("three")
		d.scope = nil
		source.Status = "a: " + strings.ReplaceAll(d.block(0), "\n", " ")
		if i%2 == 0 {
			source.Status = "a: " + d.calls("three")
		}
		program, err := render.Compile(source)
		if err != nil {
			continue
		}
		var found []finding.Finding
		for _, f := range Check(nil, &v1.TemplateController{Spec: v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "example.org/v1", Kind: "Random"}}}, program, only{kind}) {
			if f.Severity == finding.Error {
				found = append(found, f)
			}
		}
		failed := false
		for n := 0; !failed && (n < draws || len(found) > 0 && n < 20*draws); n++ {
			failed = executes(program, d.data(kind).(map[string]any)) != nil
		}
		switch {
		case failed:
			failing++
			if len(found) > 0 {
				errors++
			}
		case len(found) > 0 && !d.gets(source, found[0], kind):
			// Rendering never gets there.
		case len(found) > 0:
			t.Errorf("template %d renders each time, but: %s %s\n%s\n%s", i, found[0].Code, found[0], source.Helpers, source.Status)
		default:
			fine++
		}
	}
	t.Logf("%d templates render, %d fail with some data, of which %d have errors that are found", fine, failing, errors)
}

// gets reports whether rendering gets to the action that a finding is in, with any data that is drawn.
func (d *draw) gets(source render.Source, f finding.Finding, kind *openapi.Type) bool {
	text := &source.Status
	if f.Where == "helpers" {
		text = &source.Helpers
	}
	at := strings.LastIndex((*text)[:f.Column-1], "{{")
	*text = (*text)[:at] + `{{ fail "reached" }}` + (*text)[at:]
	program, err := render.Compile(source)
	if err != nil {
		return true
	}
	for range 1000 {
		if err := executes(program, d.data(kind).(map[string]any)); err != nil && strings.Contains(err.Error(), "reached") {
			return true
		}
	}
	return false
}

// executes renders the status, whatever the text is that comes out.
func executes(p *render.Program, parent map[string]any) error {
	_, err := p.Status(&render.Input{Parent: parent, Ready: func(map[string]any) bool { return true }, Logs: func(map[string]any) (map[string]string, error) { return nil, nil }})
	if err != nil && strings.Contains(err.Error(), "YAML") {
		return nil
	}
	return err
}
