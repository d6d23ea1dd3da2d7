//go:build !js

package crd

import (
	"context"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// rules are the validators of a schema.
type rules struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	cel        *cel.Validator // nil = no rules
}

func (r *rules) compile(s *structuralschema.Structural, internal *apiextensions.JSONSchemaProps) (err error) {
	r.structural = s
	if r.schema, _, err = validation.NewSchemaValidator(internal); err == nil {
		r.cel = cel.NewValidator(s, true, celconfig.PerCallLimit)
	}
	return err
}

// validate validates an object with the defaults of the schema, like the registry of custom resources.
func (r *rules) validate(before, after map[string]any) field.ErrorList {
	defaulting.Default(after, r.structural)
	ctx := context.Background()
	var errs field.ErrorList
	var old any // no typed nil
	if before == nil {
		errs = validation.ValidateCustomResource(nil, after, r.schema)
	} else {
		defaulting.Default(before, r.structural)
		old, errs = before, validation.ValidateCustomResourceUpdate(nil, after, before, r.schema)
	}
	errs = slices.Concat(errs, objectmeta.Validate(ctx, nil, after, r.structural, false), listtype.ValidateListSetsAndMaps(nil, r.structural, after))
	if r.cel != nil && len(errs) == 0 { // the server does not evaluate rules for most kinds of errors
		errs, _ = r.cel.Validate(ctx, nil, r.structural, after, old, celconfig.RuntimeCELCostBudget)
	}
	return errs
}
