package types

import (
	"fmt"
	"testing"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render/finding"
)

// shop is a type with a list of maps in it.
func shop() *Value {
	text := &openapi.Type{Kinds: openapi.String}
	port := &openapi.Type{Kinds: openapi.Map, Fields: map[string]openapi.Field{"number": {Type: text}}}
	spec := &openapi.Type{Kinds: openapi.Map, Fields: map[string]openapi.Field{
		"image": {Type: text}, "ports": {Type: &openapi.Type{Kinds: openapi.List, Items: port}},
		"tls": {Type: &openapi.Type{Kinds: openapi.Map, Fields: map[string]openapi.Field{"secretName": {Type: text}}}},
	}}
	whole := &openapi.Type{Kinds: openapi.Map, Fields: map[string]openapi.Field{"spec": {Type: spec, Present: true}, "status": {Type: &openapi.Type{Kinds: openapi.Map}}}}
	return OfType(whole, &Origin{Object: "Shop", Type: whole})
}

func TestUnknownFieldMessages(t *testing.T) {
	spec, _ := shop().Lookup("spec")
	ports, _ := spec.Lookup("ports")
	dict := &Value{Kinds: openapi.Map, Keys: map[string]*Value{"path": Anything}, Origin: &Origin{Source: FromTemplate}}
	values := OfData(map[string]any{"image": "a"}, &Origin{Root: ".values", Source: FromValues})
	for why, row := range map[string]struct {
		of                   *Value
		key                  string
		code                 finding.Code
		message, replacement string
	}{
		"a letter":         {spec, "imgae", finding.UnknownField, "Shop has no field .spec.imgae; did you mean image?", "image"},
		"further down":     {spec, "secretName", finding.UnknownField, "Shop has no field .spec.secretName; it is in .spec.tls", "tls.secretName"},
		"further up":       {spec, "status", finding.UnknownField, "Shop has no field .spec.status; it is in the Shop itself", ""},
		"in items":         {spec, "number", finding.UnknownField, "Shop has no field .spec.number; it is in .spec.ports[]", ""},
		"no similar field": {spec, "x", finding.UnknownField, "Shop has no field .spec.x; known: image ports tls", ""},
		"of a list":        {ports, "number", finding.NoFields, ".spec.ports of Shop is a list, so it has no .number; its items have it: use range, first or index", ""},
		"a map":            {dict, "paht", finding.UnknownField, "this map has no .paht; did you mean path?", "path"},
		"spec.values":      {values, "imag", finding.UnknownField, "spec.values has no imag; did you mean image?", "image"},
		"hidden field":     {OfType(shop().Type, &Origin{Object: "Shop", Path: ".metadata"}), "resourceVersion", finding.UnknownField, "Shop has no field .metadata.resourceVersion: templates cannot read it, because it changes all the time", ""},
	} {
		n := &Note{Code: row.code, Origin: row.of.Origin, In: row.of, Key: row.key, Kinds: row.of.Kinds &^ openapi.Null}
		message, replacement := NewFinder().Words(n)
		if message != row.message || replacement != row.replacement {
			t.Errorf("%s:\ngot  %q, %q\nwant %q, %q", why, message, replacement, row.message, row.replacement)
		}
	}
}

// TestFinderStopsAtLimit holds that a finder finds nothing more after all that one check may cost, and does not fail.
func TestFinderStopsAtLimit(t *testing.T) {
	fields := map[string]openapi.Field{}
	for i := range 1000 {
		fields[fmt.Sprintf("field%04d", i)] = openapi.Field{Type: &openapi.Type{Kinds: openapi.String}}
	}
	wide := &openapi.Type{Kinds: openapi.Map, Fields: fields}
	f := NewFinder()
	looked := 0
	for len(f.Keys(OfType(wide, nil))) > 0 {
		f.Within(wide, "nowhere")
		if looked++; looked > maxLooks/1000 {
			t.Fatal("it finds keys without an end")
		}
	}
	if got := f.Nearest("feild0001", []string{"field0001"}); got != "" {
		t.Errorf("it still finds %s", got)
	}
	if got := f.Within(wide, "field0001"); got != "" {
		t.Errorf("it still finds %s", got)
	}
}
