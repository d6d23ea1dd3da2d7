package openapi

import (
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestIdenticalTypesAreShared(t *testing.T) {
	definition := shops(t, `{type: object, properties: {
		a: {type: object, properties: {l: {type: array, items: {type: string, enum: [x, yz]}}}},
		b: {type: object, properties: {l: {type: array, items: {type: string, enum: [x, yz]}}}},
		open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {l: {type: array, items: {type: string, enum: [x, yz]}}}},
		nullable: {type: object, nullable: true, properties: {l: {type: array, items: {type: string, enum: [x, yz]}}}},
		required: {type: object, required: [l], properties: {l: {type: array, items: {type: string, enum: [x, yz]}}}},
		name: {type: object, properties: {m: {type: array, items: {type: string, enum: [x, yz]}}}},
		enum: {type: object, properties: {l: {type: array, items: {type: string, enum: [xy, z]}}}},
		map: {type: object, properties: {l: {type: object, additionalProperties: {type: string, enum: [x, yz]}}}},
		none: {type: object}}}`)
	definition.Spec.Versions[2].Schema = definition.Spec.Versions[0].Schema.DeepCopy()
	set := FromCRD(definition)
	fields := specOf(t, set).Fields
	if fields["a"].Type != fields["b"].Type {
		t.Error("two that are the same are not shared")
	}
	delete(fields, "b")
	seen := map[*Type]string{}
	for name, f := range fields {
		if other, ok := seen[f.Type]; ok {
			t.Errorf("%s is shared with %s", name, other)
		}
		seen[f.Type] = name
	}
	v2, _ := set.Lookup(shop.GroupKind().WithVersion("v2"))
	if v2.Fields["spec"].Type != specOf(t, set) {
		t.Error("two versions that are the same are not shared")
	}
}

func BenchmarkFromCRD(b *testing.B) {
	definition := podKind(b)
	definition.Spec.Versions = definition.Spec.Versions[:1:1]
	definition.Spec.Scope = apiextensionsv1.NamespaceScoped
	b.ReportAllocs()
	for b.Loop() {
		FromCRD(definition)
	}
}

// show returns a type on one line: ? is anything, {a! b …} is a map with a required field, an optional one, and possibly others,
// and map[T] is a map with arbitrary keys. Of a recursive type, it shows only the name.
func show(t *Type) string { return showWithin(t, nil) }

func showWithin(t *Type, outer []*Type) string {
	if t == nil || t.Kinds == 0 {
		return "?"
	}
	if slices.Contains(outer, t) {
		return "↑" + t.Name
	}
	outer = append(outer, t)
	var all []string
	for kind, word := range map[JSONTypes]string{String: "string", Integer: "integer", Number: "number", Boolean: "boolean", Null: "null"} {
		if t.Kinds&kind != 0 {
			all = append(all, word)
		}
	}
	slices.Sort(all)
	if len(t.Enum) > 0 {
		all = append(all, "("+strings.Join(t.Enum, ",")+")")
	}
	if t.Kinds&List != 0 {
		all = append(all, "["+showWithin(t.Items, outer)+"]")
	}
	if t.Kinds&Map != 0 {
		all = append(all, showMap(t, outer))
	}
	return strings.Join(all, "|")
}

func showMap(t *Type, outer []*Type) string {
	if t.Fields == nil {
		return "map[" + showWithin(t.Items, outer) + "]"
	}
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(t.Fields)) {
		f := t.Fields[name]
		mark := ""
		if f.Present {
			mark = "!"
		}
		fields = append(fields, name+mark+": "+showWithin(f.Type, outer))
	}
	if t.Open {
		fields = append(fields, "…")
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
