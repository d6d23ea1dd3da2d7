//go:build !js

package crd

import "testing"

// TestHostileSchemasCauseNoPanic has schemas that no author would write.
func TestHostileSchemasCauseNoPanic(t *testing.T) {
	for _, schema := range []string{
		`{}`, `{type: object, properties: null}`, `{type: object, properties: {spec: null}}`, `{type: string}`, `{type: object, properties: {status: {type: string}}}`,
		`{type: object, properties: {spec: {type: array, items: [{type: string}]}}}`, `{type: object, properties: {spec: {type: array}}}`, `{type: object, properties: {spec: {type: array, items: {}}}}`,
		`{type: object, properties: {spec: {type: object, additionalProperties: true}}}`, `{type: object, properties: {spec: {type: object, additionalProperties: false}}}`,
		`{type: object, not: {}, allOf: [{}], anyOf: [{properties: {spec: {}}}]}`, `{type: object, x-kubernetes-validations: [{}]}`, `{type: object, x-kubernetes-validations: [{rule: "self.spec.x.all(a, a > 0"}]}`,
		`{type: object, properties: {spec: {type: object, default: [1]}}}`, `{type: object, properties: {spec: {type: string, default: {"a": 1}}}}`, `{type: object, properties: {spec: {type: string, enum: [null, {}, []]}}}`,
		`{type: object, properties: {spec: {x-kubernetes-int-or-string: true}, status: {x-kubernetes-preserve-unknown-fields: true}}}`, `{type: object, properties: {spec: {type: array, x-kubernetes-list-type: map, items: {type: string}}}}`,
		`{type: object, properties: {metadata: {type: object, properties: {name: {type: integer}}}}}`, `{type: object, properties: {spec: {type: object, x-kubernetes-embedded-resource: true}}}`, `{$ref: "#/a"}`,
		`{type: object, properties: {spec: {type: string, pattern: "("}}}`, `{type: object, properties: {spec: {type: string, format: nothing, maxLength: -1}}}`, `{type: object, properties: {status: {type: object, properties: {conditions: {type: string}}}}}`,
	} {
		for _, columns := range []string{"", "\ncolumns: [{name: A, jsonPath: '.spec[0].a[*].b'}, {name: B, jsonPath: '{'}, {name: C, jsonPath: .status.conditions}]"} {
			definition, errs := Of("websites", specOf(t, "openAPIV3Schema: "+schema+columns))
			if len(errs) > 0 || definition == nil {
				continue
			}
			Manifest(definition)
			c, err := Compare(definitionOf(t, "schema: {spec: {a: string}}"), definition)
			if err != nil {
				t.Errorf("%s is valid, but %v", schema, err)
				continue
			}
			c.Add("a", map[string]any{"apiVersion": "example.org/v1", "kind": "Website", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"a": "text"}, "status": []any{}})
			c.Broken()
		}
	}
}
