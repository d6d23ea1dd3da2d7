//go:build !js

package crd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// validator checks objects against a schema, as the API server does. It is not safe for concurrent use.
type validator struct {
	structural *structuralschema.Structural
	openapi    validation.SchemaValidator
	rules      *cel.Validator // nil = no rules
	budget     int64          // what the rules may still cost, for all objects together
}

// maxCost is the limit of the cost of the CEL rules for all stored objects together: twice what the API server permits for one object. It
// takes a few seconds, and is hundreds of units for each of 50,000 objects. Simple rules cost a few units.
const maxCost = 2 * celconfig.RuntimeCELCostBudget

func newValidator(root *apiextensionsv1.JSONSchemaProps) (*validator, error) {
	s, internal, err := structural(root)
	if err != nil {
		return nil, err
	}
	openapi, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, err
	}
	return &validator{structural: s, openapi: openapi, rules: cel.NewValidator(s, true, celconfig.PerCallLimit), budget: maxCost}, nil
}

// defect is why an object does not match a schema.
type defect struct {
	path   string // such as spec.replicas
	reason string // contains no value of the object
}

// check returns why an object does not match: invalid values, and fields that would be dropped. It does not change the object.
func (v *validator) check(object map[string]any) (found []defect) {
	object = runtime.DeepCopyJSON(object)
	defaulting.Default(object, v.structural)
	errs := validation.ValidateCustomResource(nil, object, v.openapi)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, object)...)
	if v.rules != nil {
		share := min(v.budget, celconfig.RuntimeCELCostBudget)
		failed, left := v.rules.Validate(context.Background(), nil, v.structural, object, nil, share)
		v.budget -= share - max(left, 0)
		errs = append(errs, failed...)
	}
	var mistyped []string // what is below them has no schema
	for _, err := range errs {
		path := strings.TrimPrefix(strings.TrimPrefix(err.Field, "<nil>"), ".")
		if path == "" {
			path = "the object"
		}
		found = append(found, defect{path, reasonOf(err)})
		if err.Type == field.ErrorTypeTypeInvalid {
			mistyped = append(mistyped, path)
		}
	}
	for _, path := range pruning.PruneWithOptions(object, v.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		if !slices.ContainsFunc(mistyped, func(above string) bool {
			return strings.HasPrefix(path, above+".") || strings.HasPrefix(path, above+"[")
		}) {
			found = append(found, defect{path, "is no longer in the schema, and would be dropped"})
		}
	}
	return found
}

// reasons say why a value is invalid, by the type of the error.
var reasons = map[field.ErrorType]string{
	field.ErrorTypeRequired:     "is required, but not set",
	field.ErrorTypeNotSupported: "has a value that is no longer allowed",
	field.ErrorTypeTypeInvalid:  "does not have the type in the new schema",
	field.ErrorTypeDuplicate:    "has duplicates",
}

// reasonOf returns why a value is invalid, without the value.
func reasonOf(err *field.Error) string {
	if reason := reasons[err.Type]; reason != "" {
		return reason
	}
	if _, rule, found := strings.Cut(err.Detail, " in body "); found { // of the OpenAPI schema: a limit, and not the value
		return rule
	}
	return "does not satisfy a validation rule"
}

// A Comparison finds the stored objects that a change of a schema breaks. It is not safe for concurrent use.
type Comparison struct {
	before, after *validator
	breaks        map[defect]*broken
	objects       int
}

// broken counts the objects with a defect.
type broken struct {
	count   int
	example string
}

// Compare returns the Comparison of the schemas of two CustomResourceDefinitions, each with one version, or nil if the schemas are the same.
func Compare(before, after *apiextensionsv1.CustomResourceDefinition) (*Comparison, error) {
	if Hash(before) == Hash(after) {
		return nil, nil
	}
	c := &Comparison{breaks: map[defect]*broken{}}
	var err error
	if c.before, err = newValidator(schemaOf(before)); err != nil {
		return nil, fmt.Errorf("the schema in the cluster: %w", err)
	}
	if c.after, err = newValidator(schemaOf(after)); err != nil {
		return nil, err
	}
	return c, nil
}

// schemaOf returns the schema of a CustomResourceDefinition with one version. One that was created by an old API may have none, and then
// any object is valid.
func schemaOf(definition *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
	if s := definition.Spec.Versions[0].Schema; s != nil && s.OpenAPIV3Schema != nil {
		return s.OpenAPIV3Schema
	}
	return &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
}

// Add checks a stored object. name is how messages name it. The change breaks the object if it has a defect that it did not have before.
func (c *Comparison) Add(name string, object map[string]any) {
	found := c.after.check(object)
	if len(found) == 0 {
		return
	}
	already := c.before.check(object)
	breaks := false
	for _, d := range found {
		if slices.Contains(already, d) {
			continue
		}
		breaks = true
		if c.breaks[d] == nil {
			c.breaks[d] = &broken{example: name}
		}
		c.breaks[d].count++
	}
	if breaks {
		c.objects++
	}
}

// Broken returns the number of objects that the change breaks, and why, by path.
func (c *Comparison) Broken() (objects int, why []string) {
	all := slices.SortedFunc(maps.Keys(c.breaks), func(a, b defect) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.reason, b.reason))
	})
	for _, d := range all {
		b := c.breaks[d]
		why = append(why, fmt.Sprintf("%s %s (in %s, for example %s)", d.path, d.reason, problem.Count(b.count, "object", "objects"), b.example))
	}
	return c.objects, why
}
