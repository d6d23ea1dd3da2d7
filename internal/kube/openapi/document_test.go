package openapi

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// shopDocument is the document of an API server for a kind with a Go type, without unused parts.
const shopDocument = `{
	"openapi": "3.0.0",
	"components": {"schemas": {
		"org.example.api.shop.v1.Shop": {
			"type": "object", "required": ["spec"],
			"properties": {
				"metadata": {"default": {}, "allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]},
				"spec": {"default": {}, "allOf": [{"$ref": "#/components/schemas/org.example.api.shop.v1.ShopSpec"}]}},
			"x-kubernetes-group-version-kind": [{"group": "example.org", "kind": "Shop", "version": "v1"}]},
		"org.example.api.shop.v1.ShopList": {
			"type": "object",
			"properties": {"metadata": {"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"}]}},
			"x-kubernetes-group-version-kind": [{"group": "example.org", "kind": "ShopList", "version": "v1"}]},
		"org.example.api.shop.v1.ShopSpec": {
			"type": "object", "required": ["name"],
			"properties": {
				"name": {"type": "string"},
				"again": {"$ref": "#/components/schemas/org.example.api.shop.v1.ShopSpec"},
				"other": {"$ref": "#/components/schemas/org.example.Alias"},
				"raw": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.runtime.RawExtension"},
				"lost": {"$ref": "#/components/schemas/Lost"},
				"template": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}}},
		"org.example.Alias": {"$ref": "#/components/schemas/org.example.Alias"},
		"io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object"},
		"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"type": "object", "properties": {"name": {"type": "string"}}},
		"io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta": {"type": "object"},
		"io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions": {
			"type": "object",
			"x-kubernetes-group-version-kind": [{"group": "", "kind": "DeleteOptions", "version": "v1"}, {"group": "example.org", "kind": "DeleteOptions", "version": "v1"}]},
		"org.example.v1.Cart": {
			"type": "object",
			"properties": {
				"metadata": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
				"spec": {"type": "object"}},
			"x-kubernetes-group-version-kind": [{"group": "example.org", "kind": "Cart", "version": "v1"}]},
		"org.example.v1.Sack": {
			"type": "object",
			"x-kubernetes-group-version-kind": [{"group": "example.org", "kind": "Sack", "version": "v1"}]}
	}},
	"paths": {
		"/apis/example.org/v1/shops": {"get": {"x-kubernetes-group-version-kind": {"group": "example.org", "kind": "Shop", "version": "v1"}}},
		"/apis/example.org/v1/namespaces/{namespace}/shops": {"post": {"x-kubernetes-group-version-kind": {"group": "example.org", "kind": "Shop", "version": "v1"}}},
		"/apis/example.org/v1/carts": {"get": {"x-kubernetes-group-version-kind": {"group": "example.org", "kind": "Cart", "version": "v1"}}}
	}
}`

func TestKindsAreReadFromOpenAPI(t *testing.T) {
	set, err := FromOpenAPI([]byte(shopDocument))
	if err != nil {
		t.Fatal(err)
	}
	found, _ := set.Lookup(shop)
	spec := specOf(t, set)
	if spec.Name != "ShopSpec" || spec.Fields["again"].Type != spec {
		t.Errorf(".spec is a %s, which holds %s, want itself", spec.Name, show(spec.Fields["again"].Type))
	}
	if meta := spec.Fields["template"].Type; meta.Fields["name"].Present || len(meta.Fields) != len(innerMeta.Fields) {
		t.Errorf("metadata within .spec is %s", show(meta))
	}
	delete(spec.Fields, "template")
	if got, want := show(found.Fields["spec"].Type), "{again: ↑ShopSpec, lost: ?, name!: string, other: ?, raw: map[?]}"; got != want || !found.Fields["spec"].Present {
		t.Errorf("got %s, want %s", got, want)
	}
	for kind, row := range map[string]struct {
		known, exists, hasNamespace bool
		want                        string
	}{
		"Shop":          {known: true, exists: true, hasNamespace: true},
		"Cart":          {known: true, exists: true},
		"Sack":          {known: true, exists: true, hasNamespace: true}, // unknown scope
		"ShopList":      {},
		"DeleteOptions": {},
	} {
		found, exists := set.Lookup(shop.GroupVersion().WithKind(kind))
		if (found != nil) != row.known || exists != row.exists {
			t.Errorf("%s: known %v, exists %v, want %v and %v", kind, found != nil, exists, row.known, row.exists)
		}
		if found == nil {
			continue
		}
		if _, has := found.Fields["metadata"].Type.Fields["namespace"]; has != row.hasNamespace {
			t.Errorf("%s: has a namespace: %v", kind, has)
		}
	}
	cart, _ := set.Lookup(shop.GroupVersion().WithKind("Cart"))
	if got := show(cart.Fields["spec"].Type); got != "{}" {
		t.Errorf("an object without fields, of a custom kind: %s, want none", got)
	}
	if sack, _ := set.Lookup(shop.GroupVersion().WithKind("Sack")); !sack.Open {
		t.Errorf("a custom kind without a schema: %s, want that it may hold anything", show(sack))
	}
	if found, exists := set.Lookup(schema.GroupVersionKind{Group: "example.org", Version: "v2", Kind: "Shop"}); found != nil || !exists {
		t.Errorf("of a version that the document does not tell of: %v, %v, want nothing known", found, exists)
	}
}

func TestFromOpenAPIRejectsInvalidDocuments(t *testing.T) {
	for why, text := range map[string]string{
		"no JSON":              `openapi: 3.0.0`,
		"another form":         `{"components": {"schemas": []}}`,
		"a type of two kinds":  `{"components": {"schemas": {"A": {"type": ["string", "null"]}}}}`,
		"too deep":             strings.Repeat(`{"components":`, 401),
		"too deep, and whole":  `{"x":` + strings.Repeat("[", 401) + strings.Repeat("]", 401) + `}`,
		"not deep, but no end": strings.Repeat(`{"components":`, 400),
	} {
		if set, err := FromOpenAPI([]byte(text)); err == nil || set != nil || !strings.HasPrefix(err.Error(), "not an OpenAPI v3 document: ") {
			t.Errorf("%s: %v, %v, want an error", why, set, err)
		}
	}
	set, err := FromOpenAPI([]byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, exists := set.Lookup(shop); !exists {
		t.Error("an empty document knows that there is no kind")
	}
}

func TestTooDeepDetectsNestedJSON(t *testing.T) {
	for text, want := range map[string]bool{
		strings.Repeat("[", 401):                            true,
		strings.Repeat("[", 400):                            false,
		strings.Repeat("[{}]", 401):                         false,
		`"` + strings.Repeat("[", 401) + `"`:                false,
		`"\"` + strings.Repeat("[", 401) + `"`:              false,
		`"\"" ` + strings.Repeat("[", 401):                  true,
		`{"a": "x\\"}` + strings.Repeat(`{"a":`, 401) + `1`: true,
		`\`: false,
	} {
		if got := tooDeep([]byte(text)); got != want {
			t.Errorf("%.20s…: %v, want %v", text, got, want)
		}
	}
}
