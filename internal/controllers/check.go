package controllers

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/problem"
	schemas "github.com/templater-dev/templater/internal/schema"
	"github.com/templater-dev/templater/internal/spec"
)

// verdict is what the compile step says of a TemplateController.
type verdict struct {
	rejection *spec.Rejection // nil = accepted
	linted    metav1.Condition
	// asked has the kinds whose fields the verdict depends on; stale is whether one of them has changed.
	asked map[schema.GroupKind]bool
	stale bool
}

// Check is the compile step as this operator takes it. Known is nil where nothing is known of the fields of objects. It
// is safe for concurrent use.
func (c *Controllers) Check(tc *v1.TemplateController, known schemas.Set) lint.Result {
	result := c.lint(tc, known)
	if c.accounts && tc.Spec.ServiceAccountRef == nil {
		const message = "name a ServiceAccount that has the rights to read and write what the templates are about"
		result.Rejection = spec.Rejectf(v1.ReasonServiceAccountRequired, "spec.serviceAccountRef is required here: %s", message)
		required := finding.Finding{Code: finding.ServiceAccount, Severity: finding.Error, Where: "spec.serviceAccountRef", Message: "is required here: " + message}
		result.Findings = finding.Sort(append(result.Findings, required))
	}
	return result
}

// check takes the compile step with all that is known of kinds.
func (c *Controllers) check(tc *v1.TemplateController) (*spec.Compiled, verdict) {
	if c.schemas == nil {
		result := c.Check(tc, nil)
		return result.Compiled, verdict{rejection: result.Rejection, linted: lintedCondition(result.Findings)}
	}
	known := &noting{Set: c.schemas, asked: map[schema.GroupKind]bool{}}
	result := c.Check(tc, known)
	if result.Rejection != nil && worksAlready(tc) {
		// What works for some parents is not stopped by what has become known of kinds.
		if untyped := c.Check(tc, nil); untyped.Rejection == nil {
			result = lint.Result{Compiled: result.Compiled, Findings: demoted(result.Findings)}
		}
	}
	return result.Compiled, verdict{rejection: result.Rejection, linted: lintedCondition(result.Findings), asked: known.asked}
}

// worksAlready reports whether a TemplateController was accepted as it is now, and its parents were looked at.
func worksAlready(tc *v1.TemplateController) bool {
	watching := meta.FindStatusCondition(tc.Status.Conditions, v1.ConditionWatching)
	return watching != nil && watching.Status == metav1.ConditionTrue && watching.ObservedGeneration == tc.Generation
}

// demoted returns the findings with warnings in place of errors.
func demoted(all []finding.Finding) []finding.Finding {
	all = slices.Clone(all)
	for i := range all {
		all[i].Severity = finding.Warning
	}
	return finding.Sort(all)
}

// lintedCondition says which warnings there are.
func lintedCondition(all []finding.Finding) metav1.Condition {
	warnings := finding.Of(finding.Warning, all)
	switch count := len(warnings); count {
	case 0:
		return metav1.Condition{Type: v1.ConditionLinted, Status: metav1.ConditionTrue, Reason: v1.ReasonNoWarnings, Message: "no warnings"}
	default:
		message := fmt.Sprintf("%d warnings: ", count)
		if count == 1 {
			message = "1 warning: "
		}
		return metav1.Condition{Type: v1.ConditionLinted, Status: metav1.ConditionFalse, Reason: v1.ReasonWarnings, Message: message + problem.JoinFunc(warnings, finding.Finding.String)}
	}
}

// noting is a Set that notes which kinds it was asked for.
type noting struct {
	schemas.Set
	asked map[schema.GroupKind]bool
}

// Lookup returns what the Set knows of a kind.
func (n *noting) Lookup(gvk schema.GroupVersionKind) (*schemas.Type, bool) {
	n.asked[gvk.GroupKind()] = true
	return n.Set.Lookup(gvk)
}

// kindLearned has the TemplateControllers checked again whose verdict depends on a kind.
func (c *Controllers) kindLearned(gk schema.GroupKind) {
	c.mu.Lock()
	var names []string
	for name, e := range c.tracked {
		if e.asked[gk] {
			e.stale = true
			names = append(names, name)
		}
	}
	c.mu.Unlock()
	for _, name := range names {
		c.queue.Add(name)
	}
}
