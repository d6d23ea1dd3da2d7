package openapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// nested returns a schema with nested objects.
func nested(depth int) string {
	return strings.Repeat(`{"type":"object","properties":{"a":`, depth) + `{"type":"string"}` + strings.Repeat(`}}`, depth)
}

// FuzzSchemas parses any text as a document, and as the schema of a custom kind. Both must finish quickly without a panic and
// return valid types.
func FuzzSchemas(f *testing.F) {
	f.Add(shopDocument)
	f.Add(nested(3))
	f.Add(nested(190))
	f.Add(nested(3000))
	f.Add(strings.Repeat(`{"type":"array","items":`, 390) + `{}` + strings.Repeat(`}`, 390))
	f.Add(`{"components":{"schemas":{"A":` + nested(3000) + `}}}`)
	f.Add(`{"type":"object","x-kubernetes-embedded-resource":true,"allOf":[{"oneOf":[{"$ref":"#"}]}],"properties":{"a":{"$ref":"#"}}}`)
	f.Add(`{"components":{"schemas":{"A":{"allOf":[{"$ref":"#/components/schemas/B"}]},"B":{"allOf":[{"$ref":"#/components/schemas/A"}]}}}}`)
	f.Add(`{"components":{"schemas":{"A":{"type":"array","items":{"$ref":"#/components/schemas/A"},"x-kubernetes-group-version-kind":[{"version":"v1","kind":"A"}]}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		began := time.Now()
		if set, err := fromOpenAPI([]byte(text), true); err == nil {
			for gvk := range set.byKind {
				checkTypes(t, set, gvk)
			}
		}
		var root apiextensionsv1.JSONSchemaProps
		if !tooDeep([]byte(text)) && json.Unmarshal([]byte(text), &root) == nil {
			set := FromCRD(define(&root))
			checkTypes(t, set, shop)
			checkTypes(t, set, shop.GroupKind().WithVersion("v2"))
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%d bytes took %v", len(text), took)
		}
	})
}

// checkTypes checks all types in the objects of a kind.
func checkTypes(t *testing.T, set Set, gvk schema.GroupVersionKind) {
	found, exists := set.Lookup(gvk)
	if found == nil || !exists {
		t.Fatalf("%v: %v, %v, want its type", gvk, found, exists)
	}
	for _, field := range []string{"apiVersion", "kind", "metadata"} {
		if !found.Fields[field].Present {
			t.Errorf("%v lacks %s", gvk, field)
		}
	}
	seen := map[*Type]bool{}
	var check func(*Type)
	check = func(at *Type) {
		if at == nil || seen[at] {
			return
		}
		seen[at] = true
		switch {
		case at.Fields != nil && (at.Items != nil || at.Kinds&Map == 0):
			t.Errorf("%s has fields, and is no map, or says what other keys hold", show(at))
		case at.Items != nil && at.Kinds&(List|Map) == 0:
			t.Errorf("%s holds something, and is no list and no map", show(at))
		case at.Open && at.Fields == nil:
			t.Errorf("%s is open, and has no fields", show(at))
		}
		check(at.Items)
		for _, f := range at.Fields {
			check(f.Type)
		}
	}
	check(found)
}
