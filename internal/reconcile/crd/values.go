//go:build !js

package crd

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/bits"
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
	rules := ruleCheck{at: at}
	rules.check(s, ruleScope{at: at, root: true, times: 1})
	if errs := rules.result(); len(errs) > 0 {
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

// Limits of the API server for the estimated cost of CEL rules, from package validation of the API server, which would make the binary a third
// larger.
const (
	maxRuleCost  = 10_000_000
	maxTotalCost = 100_000_000
)

// ruleCheck checks the CEL rules of a schema as the API server does.
type ruleCheck struct {
	at   *field.Path // of the schema
	errs field.ErrorList
	cost uint64 // of all rules
}

// ruleScope is the place of a schema with rules in the whole one.
type ruleScope struct {
	at        *field.Path
	root      bool
	times     uint64      // how many values it can have in one object, unless unbounded
	unbounded bool        // there is no limit but the size of the object
	unmatched *field.Path // the list around it whose old and new items cannot be matched; nil = none
}

// within returns the scope of a schema below that of s.
func (in ruleScope) within(s *structuralschema.Structural, at *field.Path, matched bool) ruleScope {
	in.root = false
	if !matched && in.unmatched == nil {
		in.unmatched = in.at
	}
	in.at = at
	var most *int64
	switch {
	case s.Type == "array" && s.ValueValidation != nil:
		most = s.ValueValidation.MaxItems
	case s.Type == "object" && s.AdditionalProperties != nil && s.ValueValidation != nil:
		most = s.ValueValidation.MaxProperties
	case s.Type != "array" && s.AdditionalProperties == nil:
		most = new(int64(1))
	}
	if in.unbounded = in.unbounded || most == nil; !in.unbounded {
		in.times = times(in.times, uint64(max(0, *most)))
	}
	return in
}

// times multiplies, up to the largest number.
func times(a, b uint64) uint64 {
	if high, low := bits.Mul64(a, b); high == 0 {
		return low
	}
	return math.MaxUint64
}

// check checks the rules of a schema and of all schemas in it.
func (c *ruleCheck) check(s *structuralschema.Structural, in ruleScope) {
	if len(s.XValidations) > 0 {
		env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
		results, err := cel.Compile(s, model.SchemaDeclType(s, in.root || s.XEmbeddedResource), celconfig.PerCallLimit, env, cel.NewExpressionsEnvLoader())
		if err != nil {
			c.errs = append(c.errs, field.Invalid(in.at, field.OmitValueType{}, problem.Line(err.Error())))
		}
		for i, result := range results {
			c.judge(s.XValidations[i].Rule, result, in)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		child := s.Properties[name]
		c.check(&child, in.within(s, in.at.Child(name), cel.MapIsCorrelatable(s.XMapType)))
	}
	if s.Items != nil {
		c.check(s.Items, in.within(s, in.at.Key("*"), s.XListType != nil && *s.XListType == "map"))
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		c.check(s.AdditionalProperties.Structural, in.within(s, in.at.Key("*"), true))
	}
}

// judge records what is wrong with a compiled rule.
func (c *ruleCheck) judge(rule string, result cel.CompilationResult, in ruleScope) {
	wrong := func(format string, args ...any) {
		c.errs = append(c.errs, field.Invalid(in.at, rule, fmt.Sprintf(format, args...)))
	}
	if result.Error != nil {
		wrong("the CEL rule does not compile: %s", problem.Line(result.Error.Detail))
		return
	}
	if result.UsesOldSelf && in.unmatched != nil {
		wrong("the CEL rule uses oldSelf (as immutable=true does) in the list %s, whose old and new items cannot be matched: declare the list in openAPIV3Schema with x-kubernetes-list-type: map, or put the rule on the whole list", in.unmatched)
		return
	}
	most := in.times
	if in.unbounded {
		most = result.MaxCardinality
	}
	cost := times(result.MaxCost, most)
	if cost > maxRuleCost {
		wrong("the CEL rule may cost %s times as much as the API server allows: set maxItems, maxProperties and maxLength of the values that it reads and of the lists and maps around it, or simplify it", factor(cost))
	}
	c.cost += min(cost, maxTotalCost+1)
}

// factor returns by how much a cost exceeds the limit.
func factor(cost uint64) string {
	if cost/maxRuleCost >= 100 {
		return "more than 100"
	}
	return fmt.Sprintf("%.2f", float64(cost)/maxRuleCost)
}

// result returns all errors.
func (c *ruleCheck) result() field.ErrorList {
	if len(c.errs) == 0 && c.cost > maxTotalCost {
		c.errs = field.ErrorList{field.Invalid(c.at, field.OmitValueType{}, "all CEL rules together may cost more than the API server allows: set maxItems, maxProperties and maxLength, or simplify them")}
	}
	return c.errs
}
