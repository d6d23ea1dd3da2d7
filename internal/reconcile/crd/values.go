//go:build !js

package crd

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// validateValues checks the defaults and the CEL rules of a structural schema.
func validateValues(s *structuralschema.Structural, internal *apiextensions.JSONSchemaProps, at *field.Path) field.ErrorList {
	if n := countRules(s); n > maxRules {
		return field.ErrorList{field.Invalid(at, field.OmitValueType{}, fmt.Sprintf("the schema has %d CEL rules; the limit is %d: combine some of them, or maintain the CustomResourceDefinition in a file", n, maxRules))}
	}
	if errs := compileRules(s, at, true); len(errs) > 0 {
		return errs
	}
	if _, _, err := validation.NewSchemaValidator(internal); err != nil {
		return invalid(at, err)
	}
	errs, err := defaulting.ValidateDefaults(context.Background(), at, s, true, true)
	if err != nil {
		return invalid(at, err)
	}
	return errs
}

// maxRules is the maximum number of CEL rules in a schema: to compile one takes about a millisecond.
const maxRules = 200

func countRules(s *structuralschema.Structural) int {
	n := len(s.XValidations)
	for _, child := range s.Properties {
		n += countRules(&child)
	}
	if s.Items != nil {
		n += countRules(s.Items)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		n += countRules(s.AdditionalProperties.Structural)
	}
	return n
}

// compileRules returns the errors of the CEL rules in a schema.
func compileRules(s *structuralschema.Structural, at *field.Path, root bool) (errs field.ErrorList) {
	if len(s.XValidations) > 0 {
		env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
		results, err := cel.Compile(s, model.SchemaDeclType(s, root || s.XEmbeddedResource), celconfig.PerCallLimit, env, cel.NewExpressionsEnvLoader())
		if err != nil {
			errs = append(errs, field.Invalid(at, field.OmitValueType{}, problem.Line(err.Error())))
		}
		for i, result := range results {
			if result.Error != nil {
				errs = append(errs, field.Invalid(at, s.XValidations[i].Rule, "the CEL rule does not compile: "+problem.Line(result.Error.Detail)))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		child := s.Properties[name]
		errs = append(errs, compileRules(&child, at.Child(name), false)...)
	}
	if s.Items != nil {
		errs = append(errs, compileRules(s.Items, at.Key("*"), false)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		errs = append(errs, compileRules(s.AdditionalProperties.Structural, at.Key("*"), false)...)
	}
	return errs
}
