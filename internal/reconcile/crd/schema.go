package crd

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// structural converts a schema to the two forms that the API server works with.
func structural(root *apiextensionsv1.JSONSchemaProps) (*structuralschema.Structural, *apiextensions.JSONSchemaProps, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(root, internal, nil); err != nil {
		return nil, nil, err
	}
	s, err := structuralschema.NewStructural(internal)
	return s, internal, err
}

// validate returns the errors of a schema that need no API server: it is not structural, a default does not match it, a CEL rule does not
// compile or costs too much. at is its place in the spec.
func validate(root *apiextensionsv1.JSONSchemaProps, at *field.Path) field.ErrorList {
	if tooDeep(root, maxLevels) {
		return field.ErrorList{field.Invalid(at, field.OmitValueType{}, fmt.Sprintf("fields are nested in more than %d levels: use x-kubernetes-preserve-unknown-fields", maxLevels))}
	}
	s, internal, err := structural(root)
	if err != nil {
		return invalid(at, err)
	}
	if errs := structuralschema.ValidateStructural(at, s); len(errs) > 0 {
		return errs
	}
	return validateValues(s, internal, at)
}

// maxLevels is the maximum number of levels of a schema: the cost of its validation is quadratic in them.
const maxLevels = 64

func tooDeep(s *apiextensionsv1.JSONSchemaProps, levels int) bool {
	if s == nil || levels == 0 {
		return s != nil
	}
	for _, child := range s.Properties {
		if tooDeep(&child, levels-1) {
			return true
		}
	}
	return s.Items != nil && tooDeep(s.Items.Schema, levels-1) || s.AdditionalProperties != nil && tooDeep(s.AdditionalProperties.Schema, levels-1)
}

func invalid(at *field.Path, err error) field.ErrorList {
	return field.ErrorList{field.Invalid(at, field.OmitValueType{}, problem.Line(err.Error()))}
}
