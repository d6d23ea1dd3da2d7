// Package lint compiles and checks TemplateControllers, for the operator, the admission webhook and the commands. It needs no client.
package lint

import (
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/typed"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

// Result is what Check has found.
type Result struct {
	// Compiled is what the spec means: see spec.Compile. It is there with a Rejection, too, and has its templates where
	// only the types of fields speak against them.
	Compiled *spec.Compiled
	// Compiles is whether the spec makes sense, whatever fields objects have.
	Compiles bool
	// Rejection says why the operator does not accept the TemplateController; nil if it does.
	Rejection *spec.Rejection
	// Findings are all errors and warnings, sorted. There is an error if and only if there is a Rejection.
	Findings []finding.Finding
}

// Check compiles the spec of a TemplateController, and says all that is wrong with it. Nil schemas know of no kind. It is safe for
// concurrent use.
func Check(tc *v1.TemplateController, schemas openapi.Set) Result {
	return check{tc, schemas, nil}.all()
}

// CheckWith is Check with pauses, of which an error ends it. It returns that error.
func CheckWith(pause func() error, tc *v1.TemplateController, schemas openapi.Set) (Result, error) {
	result := check{tc, schemas, pause}.all()
	return result, ended(pause)
}

// Recheck is CheckWith for a TemplateController whose spec may have been compiled, without a rejection; nil = it was not.
func Recheck(pause func() error, tc *v1.TemplateController, compiled *spec.Compiled, schemas openapi.Set) (Result, error) {
	if compiled == nil {
		return CheckWith(pause, tc, schemas)
	}
	result := check{tc, schemas, pause}.typed(compiled)
	return result, ended(pause)
}

// ended returns the error of the pauses. Once there is one, there is one in each.
func ended(pause func() error) error {
	if pause == nil {
		return nil
	}
	return pause()
}

// check is a check of a TemplateController. An error of pause ends it, and then what it finds means nothing; nil = there are no pauses.
type check struct {
	tc      *v1.TemplateController
	schemas openapi.Set
	pause   func() error
}

// all compiles the spec, and says all that is wrong with it.
func (c check) all() Result {
	compiled, rejection, partial := spec.CompileWith(c.pause, c.tc.Name, &c.tc.Spec)
	if rejection == nil {
		return c.typed(compiled)
	}
	findings := append(slices.Clone(rejection.Findings), c.besides(partial)...)
	return Result{Compiled: compiled, Rejection: rejection, Findings: finding.Bounded(finding.Sort(findings))}
}

// typed returns what types tell of a spec that has been compiled.
func (c check) typed(compiled *spec.Compiled) Result {
	findings := append(typed.Check(c.pause, &c.tc.Spec, compiled.Program, c.schemas), spec.Ignored(&c.tc.Spec)...)
	return Result{Compiled: compiled, Compiles: true, Rejection: rejected(finding.Of(finding.Error, findings)), Findings: finding.Bounded(finding.Sort(findings))}
}

// besides returns what types tell of the templates of a rejected spec that make sense.
func (c check) besides(partial spec.Partial) []finding.Finding {
	if partial.Program == nil {
		return nil
	}
	return slices.DeleteFunc(typed.Check(c.pause, &c.tc.Spec, partial.Program, c.schemas), func(f finding.Finding) bool {
		return !partial.Whole && (f.Code == finding.UnusedHelper || f.Code == finding.UnusedValue) // what is left out may use them
	})
}

// rejected returns the rejection of templates with errors, or nil if there are none.
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
