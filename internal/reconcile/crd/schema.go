package crd

import (
	"errors"

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
// compile. at is its place in the spec. The API server also limits the cost of rules.
func validate(root *apiextensionsv1.JSONSchemaProps, at *field.Path) (errs field.ErrorList) {
	defer func() {
		if recover() != nil { // the API server recovers from a panic of this code, too
			errs = invalid(at, errors.New("the schema cannot be checked: it makes the validation of the API server fail"))
		}
	}()
	s, internal, err := structural(root)
	if err != nil {
		return invalid(at, err)
	}
	if errs := structuralschema.ValidateStructural(at, s); len(errs) > 0 {
		return errs
	}
	return validateValues(s, internal, at)
}

func invalid(at *field.Path, err error) field.ErrorList {
	return field.ErrorList{field.Invalid(at, field.OmitValueType{}, problem.Line(err.Error()))}
}
