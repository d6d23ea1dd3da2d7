// Package lint compiles and checks TemplateControllers, for the operator, the admission webhook and the commands. It needs no client.
package lint

import (
	"cmp"
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/typed"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

// Result is the result of Check.
type Result struct {
	// Compiled is the compiled spec: see spec.Compile. It is set even with a Rejection, and then includes templates that were
	// rejected by type checks only.
	Compiled *spec.Compiled
	// Compiles is whether the spec is valid apart from type checks.
	Compiles bool
	// Rejection is the reason why the operator does not accept the TemplateController; nil = accepted.
	Rejection *spec.Rejection
	// CRD is why spec.crd is invalid; nil = it is valid, or absent. The operator accepts the TemplateController nevertheless, so that
	// it continues with the CustomResourceDefinition that exists.
	CRD *spec.Rejection
	// Findings are all errors and warnings, sorted. They contain an error if and only if Rejection or CRD is not nil.
	Findings []finding.Finding
	// Suppressed are the warnings that comments in the templates suppress.
	Suppressed []finding.Finding
}

// Invalid returns the reason why the TemplateController is invalid, including spec.crd, or nil.
func (r *Result) Invalid() *spec.Rejection { return cmp.Or(r.Rejection, r.CRD) }

// Check compiles the spec of a TemplateController, and returns all findings. Nil schemas contain no kinds. It is safe for
// concurrent use.
func Check(tc *v1.TemplateController, schemas openapi.Set) Result {
	return newCheck(tc, schemas, nil).all()
}

// CheckWith is like Check, but calls pause regularly. It stops with the first error that pause returns.
func CheckWith(pause func() error, tc *v1.TemplateController, schemas openapi.Set) (Result, error) {
	result := newCheck(tc, schemas, pause).all()
	return result, ended(pause)
}

// Recheck is like CheckWith, but reuses a compiled spec without a rejection; nil = none.
func Recheck(pause func() error, tc *v1.TemplateController, compiled *spec.Compiled, schemas openapi.Set) (Result, error) {
	if compiled == nil {
		return CheckWith(pause, tc, schemas)
	}
	result := newCheck(tc, schemas, pause).typed(compiled)
	return result, ended(pause)
}

// ended returns the error of pause. Once pause returns an error, it always does.
func ended(pause func() error) error {
	if pause == nil {
		return nil
	}
	return pause()
}

// check is a check of a TemplateController. An error of pause stops it and invalidates its findings; nil = no pauses.
type check struct {
	tc      *v1.TemplateController
	schemas openapi.Set
	pause   func() error
	crd     *spec.Rejection
}

func newCheck(tc *v1.TemplateController, schemas openapi.Set, pause func() error) check {
	schemas, invalid := withCRD(tc, schemas)
	return check{tc, schemas, pause, invalid}
}

// all compiles the spec, and returns all findings.
func (c check) all() Result {
	compiled, rejection, partial := spec.CompileWith(c.pause, c.tc.Key(), &c.tc.Spec)
	if rejection == nil {
		return c.typed(compiled)
	}
	return c.result(Result{Compiled: compiled, Rejection: rejection, Findings: append(slices.Clone(rejection.Findings), c.besides(partial)...)})
}

// typed returns the findings of the type check for a compiled spec.
func (c check) typed(compiled *spec.Compiled) Result {
	findings := append(typed.Check(c.pause, c.tc, compiled.Program, c.schemas), spec.Ignored(&c.tc.Spec)...)
	return c.result(Result{Compiled: compiled, Compiles: true, Rejection: rejected(finding.Of(finding.Error, findings)), Findings: findings})
}

// result adds the errors of spec.crd to a result, and sorts its findings.
func (c check) result(r Result) Result {
	if r.CRD = c.crd; r.CRD != nil {
		r.Findings = append(r.Findings, r.CRD.Findings...)
	}
	r.Findings, r.Suppressed = unsuppressed(c.tc, finding.Sort(r.Findings))
	r.Findings = finding.Bounded(r.Findings)
	return r
}

// besides returns the findings of the type check for the valid templates of a rejected spec.
func (c check) besides(partial spec.Partial) []finding.Finding {
	if partial.Program == nil {
		return nil
	}
	return slices.DeleteFunc(typed.Check(c.pause, c.tc, partial.Program, c.schemas), func(f finding.Finding) bool {
		return !partial.Whole && (f.Code == finding.UnusedHelper || f.Code == finding.UnusedValue) // the omitted templates may use them
	})
}

// rejected returns the rejection for templates with errors, or nil.
func rejected(errors []finding.Finding) *spec.Rejection {
	if len(errors) == 0 {
		return nil
	}
	texts := make([]string, len(errors))
	for i, f := range errors {
		texts[i] = f.String()
	}
	return &spec.Rejection{Reason: v1.ReasonInvalidTemplate, Message: problem.Join(texts), Findings: errors}
}
