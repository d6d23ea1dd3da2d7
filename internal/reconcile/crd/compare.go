//go:build !js

package crd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
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

// Limits for checking stored objects against a new schema.
const (
	// maxCost limits the total cost of CEL rules for all stored objects: twice the budget of the API server for one object, which takes a
	// few seconds. Simple rules cost a few units.
	maxCost = 2 * celconfig.RuntimeCELCostBudget
	// maxCheckedValues is the maximum number of values in one object, with its defaults: the validation time grows quadratically with the
	// number of invalid ones.
	maxCheckedValues = 20_000
	// maxPathBytes is the limit for the paths of all these values: each may appear in an error.
	maxPathBytes = 64 << 20
)

// weight is how much the check of an object may still cost.
type weight struct{ values, pathBytes int }

func (w *weight) left() bool { return w.values >= 0 && w.pathBytes >= 0 }

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

// check returns why an object does not match: invalid values, and fields that would be dropped. It does not change the object. whole is
// false if the object is too expensive to check.
func (v *validator) check(object map[string]any) (found map[defect]bool, whole bool) {
	w := &weight{maxCheckedValues, maxPathBytes}
	if w.take(object, v.structural, 0); !w.left() {
		return nil, false
	}
	object = runtime.DeepCopyJSON(object)
	defaulting.Default(object, v.structural)
	found, whole = map[defect]bool{}, true
	mistyped := map[string]bool{} // what is below them has no schema
	for _, err := range validation.ValidateCustomResource(nil, object, v.openapi) {
		found[defect{pathOf(err), reasonOf(err)}] = true
		if err.Type == field.ErrorTypeTypeInvalid {
			mistyped[pathOf(err)] = true
		}
	}
	for _, err := range objectmeta.Validate(context.Background(), nil, object, v.structural, false) {
		found[defect{pathOf(err), reasonOf(err)}] = true
	}
	for _, err := range listtype.ValidateListSetsAndMaps(nil, v.structural, object) {
		found[defect{pathOf(err), "contains duplicate items"}] = true
	}
	if v.rules != nil {
		share := min(v.budget, celconfig.RuntimeCELCostBudget)
		failed, left := v.rules.Validate(context.Background(), nil, v.structural, object, nil, share)
		v.budget -= share - max(left, 0)
		whole = left >= 0 || share == celconfig.RuntimeCELCostBudget // which the API server refuses, too
		for _, err := range failed {
			found[defect{pathOf(err), "violates a rule of x-kubernetes-validations"}] = true // its message may contain values
		}
	}
	for _, path := range pruning.PruneWithOptions(object, v.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		if !below(path, mistyped) {
			found[defect{path, "is not in the new schema and would be pruned"}] = true
		}
	}
	return found, whole
}

// take subtracts a value with a path of that length, and all values below it, with the defaults that the schema adds.
func (w *weight) take(value any, s *structuralschema.Structural, path int) {
	if !w.left() {
		return
	}
	w.values--
	w.pathBytes -= path
	if value == nil && s != nil {
		value = s.Default.Object
	}
	switch value := value.(type) {
	case map[string]any:
		w.takeMap(value, cmp.Or(s, &structuralschema.Structural{}), path+1)
	case []any:
		for _, item := range value {
			w.take(item, cmp.Or(s, &structuralschema.Structural{}).Items, path+len("[0000]"))
		}
	}
}

func (w *weight) takeMap(fields map[string]any, s *structuralschema.Structural, path int) {
	for name, field := range s.Properties {
		if _, found := fields[name]; !found && field.Default.Object != nil {
			w.take(nil, &field, path+len(name))
		}
	}
	for name, value := range fields {
		field, found := s.Properties[name]
		if !found && s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
			field = *s.AdditionalProperties.Structural
		}
		w.take(value, &field, path+len(name))
	}
}

// below returns whether a path is below one of others.
func below(path string, others map[string]bool) bool {
	if len(others) == 0 || len(path) > 4096 { // of a hostile object
		return false
	}
	for i, r := range path {
		if (r == '.' || r == '[') && others[path[:i]] {
			return true
		}
	}
	return false
}

func pathOf(err *field.Error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Field, "<nil>"), ".")
}

// reasons say why a value is invalid, by the type of the error.
var reasons = map[field.ErrorType]string{
	field.ErrorTypeRequired:     "is required, but not set",
	field.ErrorTypeNotSupported: "has a value that is no longer allowed",
	field.ErrorTypeTypeInvalid:  "does not match the type in the new schema",
}

// reasonOf returns why a value does not match the OpenAPI schema, without the value.
func reasonOf(err *field.Error) string {
	if reason := reasons[err.Type]; reason != "" {
		return reason
	}
	if err.Type == field.ErrorTypeTooLong || err.Type == field.ErrorTypeTooMany {
		return err.Detail
	}
	const before = " in body "
	if at := strings.LastIndex(err.Detail, before); at >= 0 {
		return err.Detail[at+len(before):] // a limit of the schema, and not the value
	}
	return "does not match the new schema"
}

// A Comparison finds the stored objects that a change of a schema breaks. It is not safe for concurrent use.
type Comparison struct {
	before, after *validator
	breaks        map[defect]*broken
	objects       int
	unchecked     int
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

// LosesDefaults returns whether the change could change values of an object that are not stored: reading an object adds the defaults of the
// current schema. They are stored when the object is written. It is also true if the object is too expensive to check.
func (c *Comparison) LosesDefaults(object map[string]any) bool {
	w := &weight{maxCheckedValues, maxPathBytes}
	w.take(object, c.after.structural, 0)
	stored, read := runtime.DeepCopyJSON(object), runtime.DeepCopyJSON(object)
	w.dropDefaults(stored, c.before.structural)
	if !w.left() {
		return true
	}
	defaulting.Default(stored, c.after.structural)
	defaulting.Default(read, c.after.structural)
	return !reflect.DeepEqual(stored, read)
}

// dropDefaults removes all values that are equal to their defaults.
func (w *weight) dropDefaults(value any, s *structuralschema.Structural) {
	switch value := value.(type) {
	case map[string]any:
		for name, child := range value {
			field, found := s.Properties[name]
			if !found && s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
				field = *s.AdditionalProperties.Structural
			}
			if w.take(nil, &field, 0); !w.left() {
				return
			}
			defaults := runtime.DeepCopyJSONValue(field.Default.Object)
			defaulting.Default(defaults, &field)
			if found && defaults != nil && reflect.DeepEqual(child, defaults) {
				delete(value, name)
			} else {
				w.dropDefaults(child, &field)
			}
		}
	case []any:
		for _, item := range value {
			w.dropDefaults(item, cmp.Or(s.Items, &structuralschema.Structural{}))
		}
	}
}

// Add checks a stored object. name is how messages name it. The change breaks the object if it has a defect that it did not have before.
func (c *Comparison) Add(name string, object map[string]any) {
	found, whole := c.after.check(object)
	if whole && len(found) == 0 {
		return
	}
	already, before := c.before.check(object)
	if !whole || !before {
		c.unchecked++
		return
	}
	fresh := map[defect]bool{}
	for d := range found {
		if !already[d] {
			fresh[defect{place(d.path, c.before.structural, c.after.structural), d.reason}] = true
		}
	}
	for d := range fresh {
		if c.breaks[d] == nil {
			c.breaks[d] = &broken{example: name}
		}
		c.breaks[d].count++
	}
	if len(fresh) > 0 {
		c.objects++
	}
}

// place returns a path without what is not in one of the schemas: list indexes and keys of maps, which are values of the object, become *.
func place(path string, schemas ...*structuralschema.Structural) string {
	var out strings.Builder
	for path = "." + path; path != "" && len(schemas) > 0; {
		var next []*structuralschema.Structural
		name, rest := nameAt(path[1:], schemas)
		for _, s := range schemas {
			switch child, found := s.Properties[name]; {
			case found:
				next = append(next, &child)
			case name != "*":
			case s.Items != nil:
				next = append(next, s.Items)
			case s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil:
				next = append(next, s.AdditionalProperties.Structural)
			}
		}
		if path[0] == '[' {
			out.WriteString("[*]")
		} else {
			out.WriteString("." + name)
		}
		path, schemas = rest, next
	}
	if at := strings.TrimPrefix(out.String(), "."); at != "" && at != "*" {
		return at
	}
	return "the object"
}

// nameAt returns the longest property at the begin of a path, or * if it is none, and what follows.
func nameAt(path string, schemas []*structuralschema.Structural) (name, rest string) {
	for _, s := range schemas {
		for property := range s.Properties {
			after, found := strings.CutPrefix(path, property)
			if found && len(property) > len(name) && (after == "" || after[0] == '.' || after[0] == '[') {
				name, rest = property, after
			}
		}
	}
	if name != "" {
		return name, rest
	}
	if end := strings.IndexAny(path, ".["); end >= 0 {
		return "*", path[end:]
	}
	return "*", ""
}

// Broken returns the number of objects that the change breaks, and why, by path; and the number of objects that were too expensive to check.
func (c *Comparison) Broken() (objects int, why []string, unchecked int) {
	all := slices.SortedFunc(maps.Keys(c.breaks), func(a, b defect) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.reason, b.reason))
	})
	for _, d := range all {
		b := c.breaks[d]
		why = append(why, fmt.Sprintf("%s %s (in %s, for example %s)", d.path, d.reason, problem.Count(b.count, "object", "objects"), b.example))
	}
	return c.objects, why, c.unchecked
}
