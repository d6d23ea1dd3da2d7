package openapi

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// shops returns a CustomResourceDefinition with text as the schema of .spec.
func shops(t *testing.T, spec string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var field apiextensionsv1.JSONSchemaProps
	if err := yaml.UnmarshalStrict([]byte(spec), &field); err != nil {
		t.Fatal(err)
	}
	return define(&apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": field}})
}

func define(root *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.org",
		Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Shop", Plural: "shops"},
		Scope: apiextensionsv1.NamespaceScoped,
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
			{Name: "v1", Served: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root}},
			{Name: "v1beta1"},
			{Name: "v2", Served: true},
		},
	}}
}

var shop = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Shop"}

// specOf returns the type of .spec of a v1 Shop.
func specOf(t *testing.T, set Set) *Type {
	t.Helper()
	found, exists := set.Lookup(shop)
	if found == nil || !exists {
		t.Fatalf("Lookup(%v) = %v, %v, want a type", shop, found, exists)
	}
	return found.Fields["spec"].Type
}

func TestSchemasConvertToTypes(t *testing.T) {
	for why, row := range map[string]struct{ schema, want string }{
		"each type": {`{type: object, properties: {
			s: {type: string}, i: {type: integer}, f: {type: number}, b: {type: boolean}, l: {type: array, items: {type: string}}, m: {type: object, additionalProperties: {type: integer}}}}`,
			`{b: boolean, f: integer|number, i: integer, l: [string], m: map[integer], s: string}`},
		"required, or with a default, is present": {`{type: object, required: [a, d], properties: {
			a: {type: string}, b: {type: string, default: x}, c: {type: string}, d: {type: string, nullable: true}, z: {type: integer, default: 0}}}`,
			`{a!: string, b!: string, c: string, d: null|string, z!: integer}`},
		"required by a part of it":                             {`{type: object, properties: {a: {type: string}}, allOf: [{required: [a]}]}`, `{a!: string}`},
		"required by one of several is not certain":            {`{type: object, properties: {a: {type: string}, b: {type: string}}, anyOf: [{required: [a]}, {required: [b]}]}`, `{a: string, b: string}`},
		"the server drops fields of an object that names none": {`{type: object}`, `{}`},
		"it keeps them where the schema says so":               {`{type: object, x-kubernetes-preserve-unknown-fields: true}`, `map[?]`},
		"and next to those with a name":                        {`{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}`, `{a: string, …}`},
		"no type is anything":                                  {`{x-kubernetes-preserve-unknown-fields: true}`, `?`},
		"any keys":                                             {`{type: object, additionalProperties: true}`, `map[?]`},
		"no other keys":                                        {`{type: object, additionalProperties: false, properties: {a: {type: string}}}`, `{a: string}`},
		"some keys with a type, others of another":             {`{type: object, additionalProperties: {type: string}, properties: {a: {type: string}}}`, `{a: string, …}`},
		"a list of anything":                                   {`{type: array}`, `[?]`},
		"int-or-string":                                        {`{x-kubernetes-int-or-string: true}`, `integer|string`},
		"int-or-string, as generators write it":                {`{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: x, nullable: true}`, `integer|null|string`},
		"one of several scalars":                               {`{oneOf: [{type: string}, {type: number}]}`, `integer|number|string`},
		"one of several, of which some are not known":          {`{oneOf: [{type: string}, {type: object, properties: {a: {type: string}}}]}`, `?`},
		"an enum":                                         {`{type: string, enum: [a, b]}`, `string|(a,b)`},
		"an enum that can be null":                        {`{type: string, nullable: true, enum: [a, null]}`, `null|string|(a)`},
		"an enum of something else":                       {`{type: integer, enum: [1, 2]}`, `integer`},
		"an enum of strings and something else":           {`{type: string, enum: [a, 2]}`, `string`},
		"a branch that names fields which the object has": {`{type: object, properties: {a: {type: string}}, anyOf: [{properties: {a: {maxLength: 3}}}]}`, `{a: string}`},
		"a branch that names others":                      {`{type: object, properties: {a: {type: string}}, anyOf: [{properties: {b: {type: string}}}]}`, `{a: string, …}`},
		"a branch of a branch that names others":          {`{type: object, properties: {a: {type: string}}, allOf: [{oneOf: [{x-kubernetes-preserve-unknown-fields: true}]}]}`, `{a: string, …}`},
		"a type that there is not":                        {`{type: file}`, `?`},
		"fields without a type":                           {`{properties: {a: {type: string}}}`, `?`},
		"a reference leads nowhere":                       {`{type: object, properties: {a: {$ref: "#/properties/spec"}}}`, `{a: ?}`},
	} {
		t.Run(why, func(t *testing.T) {
			if got := show(specOf(t, FromCRD(shops(t, row.schema)))); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestEmbeddedResourcesHaveTypeMeta(t *testing.T) {
	for why, row := range map[string]struct {
		schema string
		open   bool
	}{
		"of a kind that the author names": {`{type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: string}}}`, false},
		"of any kind":                     {`{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`, true},
	} {
		got := specOf(t, FromCRD(shops(t, row.schema)))
		if !got.Fields["apiVersion"].Present || !got.Fields["kind"].Present || got.Fields["metadata"].Type != innerMeta || got.Open != row.open {
			t.Errorf("%s: %s, want apiVersion, kind and metadata, and open: %v", why, show(got), row.open)
		}
	}
}

func TestRootObjectHasTypeAndObjectMeta(t *testing.T) {
	definition := shops(t, `{type: object, properties: {a: {type: string}}}`)
	root := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	root.Properties["metadata"] = apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"name": {Type: "string"}}}
	found, _ := FromCRD(definition).Lookup(shop)
	meta := found.Fields["metadata"].Type
	for field, present := range map[string]bool{"name": true, "namespace": true, "uid": true, "generation": true, "creationTimestamp": true, "labels": false, "deletionTimestamp": false} {
		if f, ok := meta.Fields[field]; !ok || f.Present != present {
			t.Errorf("metadata.%s: there %v, present %v, want that %v", field, ok, f.Present, present)
		}
	}
	delete(found.Fields, "metadata")
	if got, want := show(found), `{apiVersion!: string|(example.org/v1), kind!: string|(Shop), spec: {a: string}}`; got != want || found.Name != "Shop" {
		t.Errorf("%s is %s, want %s", found.Name, got, want)
	}

	definition.Spec.Scope = apiextensionsv1.ClusterScoped
	found, _ = FromCRD(definition).Lookup(shop)
	if _, there := found.Fields["metadata"].Type.Fields["namespace"]; there {
		t.Error("an object of the whole cluster has a namespace")
	}

	definition.Spec.PreserveUnknownFields = true
	found, _ = FromCRD(definition).Lookup(shop)
	delete(found.Fields, "metadata")
	if got, want := show(found), `{apiVersion!: string|(example.org/v1), kind!: string|(Shop), …}`; got != want {
		t.Errorf("where the server keeps all fields: %s, want %s", got, want)
	}
}

func TestLookupInCRDMatchesServedVersions(t *testing.T) {
	definition := shops(t, `{type: object}`)
	definition.Status.AcceptedNames.Kind = "Shop"
	set := FromCRD(definition)
	for _, row := range []struct {
		version, kind string
		known, exists bool
	}{
		{"v1", "Shop", true, true},
		{"v2", "Shop", true, true},        // without a schema
		{"v1beta1", "Shop", false, false}, // not served
		{"v3", "Shop", false, false},
		{"v1", "Store", false, true},
	} {
		found, exists := set.Lookup(schema.GroupVersionKind{Group: "example.org", Version: row.version, Kind: row.kind})
		if (found != nil) != row.known || exists != row.exists {
			t.Errorf("%s %s: type known %v, exists %v, want %v, %v", row.version, row.kind, found != nil, exists, row.known, row.exists)
		}
	}
}

func TestJoinUsesFirstMatchingSet(t *testing.T) {
	first, second := FromCRD(shops(t, `{type: object}`)), FromCRD(shops(t, `{type: string}`))
	joined := Join(nil, first, second)
	if got := show(specOf(t, joined)); got != "{}" {
		t.Errorf("got %s, want that of the first", got)
	}
	if _, exists := joined.Lookup(schema.GroupVersionKind{Group: "example.org", Version: "v3", Kind: "Shop"}); exists {
		t.Error("v3 exists, want that it is known not to")
	}
	if found, exists := Join(nil).Lookup(shop); found != nil || !exists {
		t.Errorf("of nothing: %v, %v, want nothing known", found, exists)
	}
}
