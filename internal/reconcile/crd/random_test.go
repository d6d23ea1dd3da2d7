//go:build !js

package crd

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	v1 "github.com/templater-dev/templater/api/v1"
)

// shape is a random field, with its own idea of which values are valid.
type shape struct {
	kind     string // string, integer, boolean, list, map, mapping
	fields   map[string]*shape
	items    *shape
	required bool
	limit    int64    // maximum of an integer; 0 = none
	enum     []string // of a string
	byLack   string   // default; "" = none
}

func randomShape(r *rand.Rand, depth int) *shape {
	kinds := []string{"string", "integer", "boolean", "list", "map", "mapping"}
	m := &shape{kind: kinds[r.IntN(len(kinds))]}
	if depth == 0 {
		m.kind = kinds[r.IntN(3)]
	}
	switch m.kind {
	case "mapping":
		m.fields = map[string]*shape{}
		for i := range 1 + r.IntN(3) {
			m.fields[string(rune('a'+i))] = randomShape(r, depth-1)
		}
	case "list", "map":
		m.items = randomShape(r, 0)
	}
	m.edit(r)
	return m
}

// edit changes the rules of a field.
func (m *shape) edit(r *rand.Rand) {
	m.limit, m.enum, m.byLack = 0, nil, ""
	m.required = m.kind != "mapping" && r.IntN(4) == 0
	switch {
	case m.kind == "integer" && r.IntN(3) == 0:
		m.limit = 1 + r.Int64N(9)
	case m.kind == "string" && r.IntN(3) == 0:
		m.enum = []string{"x", "y", "z"}[:1+r.IntN(3)]
	}
	if r.IntN(4) == 0 {
		m.byLack = map[string]string{"string": "x", "integer": "1", "boolean": "true"}[m.kind]
	}
}

// change makes one random change somewhere.
func (m *shape) change(r *rand.Rand, depth int) {
	names := slices.Sorted(maps.Keys(m.fields))
	name := names[r.IntN(len(names))]
	child := m.fields[name]
	switch what := r.IntN(6); {
	case what == 0:
		m.fields["new"+fmt.Sprint(r.IntN(100))] = randomShape(r, depth-1)
	case what == 1 && len(names) > 1:
		delete(m.fields, name)
	case what == 2:
		m.fields[name] = randomShape(r, depth-1)
	case child.kind == "mapping":
		child.change(r, depth-1)
	default:
		child.edit(r)
	}
}

// short returns the field in short form.
func (m *shape) short() any {
	if m.kind == "mapping" {
		out := map[string]any{}
		for name, field := range m.fields {
			out[name] = field.short()
		}
		return out
	}
	text := map[string]string{"list": "[]", "map": "map[string]"}[m.kind]
	of := m
	if m.items != nil {
		of = m.items
	}
	text += of.kind + " |"
	if m.required {
		text += " required=true"
	}
	if m.limit > 0 {
		text += fmt.Sprint(" maximum=", m.limit)
	}
	if len(m.enum) > 0 {
		text += ` enum="` + strings.Join(m.enum, ",") + `"`
	}
	if m.byLack != "" {
		text += " default=" + m.byLack
	}
	return strings.TrimSuffix(text, " |")
}

// value returns a random value that is valid, or nil to leave it out.
func (m *shape) value(r *rand.Rand) any {
	if !m.required && r.IntN(3) == 0 {
		return nil
	}
	switch m.kind {
	case "string":
		if len(m.enum) > 0 {
			return m.enum[r.IntN(len(m.enum))]
		}
		return string(rune('u' + r.IntN(6)))
	case "integer":
		if m.limit > 0 {
			return r.Int64N(m.limit + 1)
		}
		return r.Int64N(20)
	case "boolean":
		return r.IntN(2) == 0
	}
	if m.kind == "list" {
		out := []any{}
		for range r.IntN(3) {
			if v := (&shape{kind: m.items.kind, required: true}).value(r); v != nil {
				out = append(out, v)
			}
		}
		return out
	}
	out := map[string]any{}
	if m.kind == "map" {
		for i := range r.IntN(3) {
			out[fmt.Sprint("k", i)] = (&shape{kind: m.items.kind, required: true}).value(r)
		}
		return out
	}
	for name, field := range m.fields {
		if v := field.value(r); v != nil {
			out[name] = v
		}
	}
	return out
}

// broken returns the paths in a value that do not fit.
func (m *shape) broken(v any, path string) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		switch m.kind {
		case "map":
			for key, item := range v {
				out = append(out, m.items.bare().broken(item, path+"."+shownKey(key))...)
			}
			return out
		case "mapping":
			for key, item := range v {
				if field := m.fields[key]; field != nil {
					out = append(out, field.broken(item, path+"."+key)...)
				} else {
					out = append(out, path+"."+shownKey(key))
				}
			}
			for name, field := range m.fields {
				if v[name] == nil && field.required && field.byLack == "" {
					out = append(out, path+"."+name)
				}
			}
			return out
		}
	case []any:
		if m.kind == "list" {
			for _, item := range v {
				out = append(out, m.items.bare().broken(item, path+"[*]")...)
			}
			return out
		}
	case string:
		if m.kind == "string" && (len(m.enum) == 0 || slices.Contains(m.enum, v)) {
			return nil
		}
	case int64:
		if m.kind == "integer" && (m.limit == 0 || v <= m.limit) {
			return nil
		}
	case bool:
		if m.kind == "boolean" {
			return nil
		}
	}
	return []string{path}
}

// shownKey returns how a path shows a field, or the key of a map.
func shownKey(key string) string {
	if strings.HasPrefix(key, "k") {
		return "*"
	}
	return key
}

// bare returns an item of a list or a map: short form has no rules for it.
func (m *shape) bare() *shape { return &shape{kind: m.kind} }

// definition returns the CustomResourceDefinition, or nil if the default of a field contradicts its rules.
func (m *shape) definition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	raw, err := json.Marshal(m.short())
	if err != nil {
		t.Fatal(err)
	}
	spec := &v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "example.org/v1", Kind: "Website"}}
	spec.CRD = &v1.CRD{Schema: &v1.ShortSchema{Spec: &apiextensionsv1.JSON{Raw: raw}}}
	definition, errs := Of("websites", spec)
	if len(errs) > 0 {
		t.Fatalf("%s: %v", raw, errs.ToAggregate())
	}
	return definition
}

// TestComparisonOfRandomChanges compares what a change breaks with an independent check of the same objects.
func TestComparisonOfRandomChanges(t *testing.T) {
	refused := 0
	const changes = 400
	for seed := range uint64(changes) {
		r := rand.New(rand.NewPCG(seed, 1))
		root := &shape{kind: "mapping", fields: map[string]*shape{"a": randomShape(r, 3), "b": randomShape(r, 3), "c": randomShape(r, 3)}}
		before := root.definition(t)
		var objects []map[string]any
		for range 3 {
			spec, _ := root.value(r).(map[string]any)
			if spec != nil && len(root.broken(spec, "spec")) == 0 {
				objects = append(objects, map[string]any{"apiVersion": "example.org/v1", "kind": "Website", "metadata": map[string]any{"name": "x"}, "spec": spec})
			}
		}
		root.change(r, 3)
		comparison, err := Compare(before, root.definition(t))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{}
		for _, o := range objects {
			for _, path := range root.broken(o["spec"], "spec") {
				want[path] = true
			}
		}
		got := map[string]bool{}
		if comparison != nil {
			for _, o := range objects {
				comparison.Add("x", o)
			}
			for d := range comparison.breaks {
				got[d.path] = true
			}
		}
		if len(want) > 0 {
			refused++
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
			text, _ := json.Marshal(root.short())
			stored, _ := json.Marshal(objects)
			t.Errorf("seed %d: broken paths (-want +got):\n%s\nthe schema is now %s\nof %s", seed, diff, text, stored)
		}
	}
	if refused < changes/10 || refused > changes*9/10 {
		t.Errorf("%d of %d changes are refused: the test proves little", refused, changes)
	}
}
