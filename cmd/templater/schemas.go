package main

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/templater-dev/templater/internal/manifest"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/schema"
)

// schemasOf returns what is known of the kinds that files define.
func schemasOf(definitions []*manifest.Object) (schema.Set, error) {
	sets := make([]schema.Set, len(definitions))
	for i, o := range definitions {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Content, definition); err != nil {
			return nil, &manifest.Error{File: o.File, Line: o.Line, Message: "this CustomResourceDefinition cannot be read: " + problem.Line(err.Error())}
		}
		for v := range definition.Spec.Versions {
			if s := definition.Spec.Versions[v].Schema; s != nil && refers(s.OpenAPIV3Schema) {
				return nil, &manifest.Error{File: o.File, Line: o.Line, Message: fmt.Sprintf("the schema of CustomResourceDefinition %s has a $ref, which the API server does not take: write out what it refers to, or, in place of a schema that refers to itself, x-kubernetes-preserve-unknown-fields: true", definition.Name)}
			}
		}
		sets[i] = schema.FromCRD(definition)
	}
	return schema.Join(sets...), nil
}

// refers reports whether a schema refers to another one by $ref.
func refers(s *apiextensionsv1.JSONSchemaProps) bool {
	if s == nil {
		return false
	}
	if s.Ref != nil || s.Items != nil && refers(s.Items.Schema) || s.AdditionalProperties != nil && refers(s.AdditionalProperties.Schema) || refers(s.Not) {
		return true
	}
	for _, parts := range [][]apiextensionsv1.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range parts {
			if refers(&parts[i]) {
				return true
			}
		}
	}
	for _, properties := range []map[string]apiextensionsv1.JSONSchemaProps{s.Properties, s.PatternProperties} {
		for _, p := range properties {
			if refers(&p) {
				return true
			}
		}
	}
	return false
}
