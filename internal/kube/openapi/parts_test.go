package openapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestSizeOfCountsEachPart enlarges one part after the other.
func TestSizeOfCountsEachPart(t *testing.T) {
	build := func(change func(root, inner *Type)) int {
		inner := &Type{Kinds: Map, Fields: map[string]Field{"a": {}}}
		root := &Type{Kinds: Map, Fields: map[string]Field{"inner": {Type: inner}, "again": {Type: inner}, "list": {Type: &Type{Kinds: List}}}}
		change(root, inner)
		return sizeOf(&readSet{byKind: map[schema.GroupVersionKind]*Type{shop: root}})
	}
	before := build(func(_, _ *Type) {})
	for what, row := range map[string]struct {
		change func(root, inner *Type)
		more   int // minimum difference in bytes; the maximum is 300 more
	}{
		"a name":               {func(root, _ *Type) { root.Name = "Shop" }, 4},
		"a word":               {func(_, inner *Type) { inner.Enum = []string{strings.Repeat("x", 100)} }, 116},
		"an item":              {func(root, _ *Type) { root.Fields["list"].Type.Items = &Type{Kinds: List, Items: &Type{}} }, 100},
		"a type of its own":    {func(root, _ *Type) { root.Fields["again"] = Field{Type: &Type{Kinds: Map, Open: true}} }, 60},
		"the name of a field":  {func(_, inner *Type) { inner.Fields = map[string]Field{strings.Repeat("x", 101): {}} }, 96},
		"more fields than fit": {func(_, inner *Type) { fill(inner, 9) }, 200},
	} {
		if got := build(row.change) - before; got < row.more || got > row.more+300 {
			t.Errorf("%s takes %d bytes, want at least %d", what, got, row.more)
		}
	}
	plainly := build(func(root, _ *Type) { root.Fields["list"] = Field{Type: simple(List)} })
	if took := before - plainly; took < 60 {
		t.Errorf("a type that all share takes only %d bytes less than another one", took)
	}
}

func fill(t *Type, fields int) {
	for i := range fields {
		t.Fields[fmt.Sprint(i)] = Field{}
	}
}

// Maps have slots for 8 keys, or a power of two of which seven eighths are used.
func TestMapSizeIncludesSpareSlots(t *testing.T) {
	for keys, slots := range map[int]int{0: 8, 1: 8, 7: 8, 8: 8, 9: 16, 14: 16, 15: 32, 28: 32, 29: 64} {
		if got := mapSize(keys); got != mapBytes+slots*slotBytes {
			t.Errorf("%d keys: %d bytes, want room for %d", keys, got, slots)
		}
	}
}

// A kind does not exist if one set reports so and no other set knows it, regardless of the order.
func TestJoinReportsMissingKindIfOneSetIsComplete(t *testing.T) {
	knows := &readSet{whole: func(schema.GroupVersionKind) bool { return true }}
	nothing := &readSet{whole: func(schema.GroupVersionKind) bool { return false }}
	for _, set := range []Set{Join(knows, nothing), Join(nothing, knows)} {
		if _, exists := set.Lookup(shop); exists {
			t.Error("there is such a kind")
		}
	}
}

// Values of schemas that are nested too deep can be anything.
func TestSchemasBelowMaximumDepthAllowAnything(t *testing.T) {
	s := &apiextensionsv1.JSONSchemaProps{Type: "string"}
	for range maxSchemaDepth + 5 {
		s = &apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: s}}
	}
	lists := 0
	for at := (&reader{sharer: newSharer()}).read(s, 0); at != nil; at = at.Items {
		lists++
	}
	if lists != maxSchemaDepth+1 {
		t.Errorf("%d lists within each other are known, want %d", lists, maxSchemaDepth+1)
	}
	definition := shops(t, `{type: object}`)
	definition.Spec.Versions[0].Schema = &apiextensionsv1.CustomResourceValidation{}
	if found, exists := FromCRD(definition).Lookup(shop); !exists || !found.Open {
		t.Errorf("without a schema: %s, want that it may hold anything", show(found))
	}
}

// Values of underspecified schemas can be anything.
func TestUnderspecifiedSchemasAllowAnything(t *testing.T) {
	for text, want := range map[string]string{
		`{"type": "object", "x-kubernetes-preserve-unknown-fields": false, "properties": {"a": {}}}`: "{a: ?}",
		`{"type": "array"}`: "[?]", `{"type": "array", "items": []}`: "[?]",
		`{"type": "file", "anyOf": [{"type": "string"}]}`:                                         "?",
		`{"properties": {"a": {}}, "anyOf": [{"type": "string"}]}`:                                "?",
		`{"anyOf": [{"type": "string"}, {"type": "integer"}]}`:                                    "integer|string",
		`{"anyOf": [{"type": "string"}, {}]}`:                                                     "?",
		`{"anyOf": [{"type": "string"}, {"type": "file"}]}`:                                       "?",
		`{"type": "object", "additionalProperties": true}`:                                        "map[?]",
		`{"type": "object", "additionalProperties": {"type": "string"}}`:                          "map[string]",
		`{"properties": {"a": {}}, "allOf": [{"type": "string"}]}`:                                "?",
		`{"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}}`: "{a: ?, …}",
	} {
		s := &apiextensionsv1.JSONSchemaProps{}
		if err := json.Unmarshal([]byte(text), s); err != nil {
			t.Fatal(err)
		}
		if got := show((&reader{sharer: newSharer(), structural: true}).read(s, 0)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if !whole(&Type{Kinds: Map, Fields: map[string]Field{}, Open: true}, shop, objectMeta[namespaced][true]).Open {
		t.Error("an object that may hold more than its fields is closed")
	}
}

// TestDefinitions uses definitions that can occur in the documents of API servers.
func TestDefinitions(t *testing.T) {
	const root = `{"components": {"schemas": {
		"org.example.api.v1.Shop": {"type": "object",
			"properties": {"metadata": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}, "spec": {"$ref": "#/components/schemas/Spec"}},
			"x-kubernetes-group-version-kind": [{"group": "example.org", "kind": "Shop", "version": "v1"}]},
		"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"type": "object"},
		"Other": {"type": "object", "properties": {"b": {"type": "string"}}},
		"Spec": SPEC}}}`
	for why, row := range map[string]struct{ spec, want string }{
		"fields":                            {`{"type": "object", "properties": {"a": {"type": "string"}}}`, "{a: string}"},
		"a field of which nothing is known": {`{"type": "object", "properties": {"a": {"type": "object"}}}`, "{a: map[?]}"},
		"another name":                      {`{"$ref": "#/components/schemas/Other"}`, "?"},
		"another name, with more of it":     {`{"allOf": [{"$ref": "#/components/schemas/Other"}]}`, "?"},
		"fields, of which one is needed":    {`{"type": "object", "properties": {"a": {"type": "string"}}, "allOf": [{"required": ["a"]}]}`, "{a!: string}"},
		"fields, and those of another":      {`{"type": "object", "properties": {"a": {"type": "string"}}, "allOf": [{"$ref": "#/components/schemas/Other"}]}`, "{a: string, …}"},
		"a branch that keeps no more":       {`{"type": "object", "properties": {"a": {"type": "string"}}, "allOf": [{"x-kubernetes-preserve-unknown-fields": false}]}`, "{a: string}"},
		"fields, or others":                 {`{"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"x-kubernetes-preserve-unknown-fields": true}]}`, "{a: string, …}"},
	} {
		for range 20 { // regardless of the order
			set, err := FromOpenAPI([]byte(strings.Replace(root, "SPEC", row.spec, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if got := show(specOf(t, set)); got != row.want {
				t.Fatalf("%s: %s, want %s", why, got, row.want)
			}
		}
	}
}

// A kind is namespaced if one of its paths is, regardless of the order.
func TestScopeOfKindIsReadFromPaths(t *testing.T) {
	var doc document
	const mark = `{"get": {"x-kubernetes-group-version-kind": {"group": "example.org", "kind": "Shop", "version": "v1"}}}`
	if err := json.Unmarshal([]byte(`{"paths": {"/apis/example.org/v1/shops": `+mark+`, "/apis/example.org/v1/namespaces/{namespace}/shops": `+mark+`}}`), &doc); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if got := doc.scopes()[shop]; got != namespaced {
			t.Fatalf("got %v, want %v", got, namespaced)
		}
	}
	definition := shops(t, `{type: object}`)
	for scope, want := range map[apiextensionsv1.ResourceScope]bool{apiextensionsv1.NamespaceScoped: true, apiextensionsv1.ClusterScoped: false} {
		definition.Spec.Scope = scope
		found, _ := FromCRD(definition).Lookup(shop)
		if got, known := found.Namespaced(); got != want || !known {
			t.Errorf("%s: %v, known %v", scope, got, known)
		}
	}
	for why, unknown := range map[string]*Type{"no type": nil, "no metadata": {Fields: map[string]Field{}}, "nobody says it": whole(nil, shop, objectMeta[0][false])} {
		if got, known := unknown.Namespaced(); got || known {
			t.Errorf("%s: %v, known %v", why, got, known)
		}
	}
}
