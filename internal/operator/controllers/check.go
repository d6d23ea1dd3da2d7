package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/operator/controllers/conditions"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

// verdict is the result of the compile step for a TemplateController.
type verdict struct {
	rejection *spec.Rejection // nil = accepted
	linted    metav1.Condition
	compiles  bool // whether the spec is valid, whatever fields objects have
	// asked has the kinds whose fields the verdict depends on; stale is when to check again because one of them has changed, zero = not.
	asked map[schema.GroupKind]bool
	stale time.Time
}

// compiler compiles and checks specs.
type compiler struct {
	*registry

	store  *store
	memory *compiledMemory
	// schemas say which fields objects have; nil = nothing is known of them.
	schemas Schemas
	// lint is lintOf, but in tests.
	lint func(pause func() error, tc *v1.TemplateController, compiled *spec.Compiled, known openapi.Set) (lint.Result, error)
}

// Refuse says why a TemplateController that is about to be written would not be compiled for its size; nothing is for one that would be.
func (m *compiler) Refuse(tc *v1.TemplateController) []finding.Finding {
	if r := m.memory.Refuse(tc); r != nil {
		return r.Findings
	}
	return nil
}

// Check is the compile step of a TemplateController that is about to be written. What would not be compiled for its size is refused. Known is nil where nothing is known of the fields of objects. The error is that of ctx, and ends
// it. It is safe for concurrent use.
func (m *compiler) Check(ctx context.Context, tc *v1.TemplateController, known openapi.Set) (lint.Result, error) {
	if r := m.memory.Refuse(tc); r != nil {
		return lint.Result{Rejection: r, Findings: r.Findings}, nil
	}
	result, err := lint.CheckWith(ctx.Err, tc, known)
	return m.withAccount(tc, result), err
}

// examine takes the compile step, with the pauses of the worker. What was compiled before is not compiled again; nil is for nothing.
func (m *compiler) examine(ctx context.Context, tc *v1.TemplateController, compiled *spec.Compiled, known openapi.Set) (lint.Result, error) {
	result, err := m.lint(queue.WorkerOf(ctx).Pauses(), tc, compiled, known)
	return m.withAccount(tc, result), err
}

// withAccount adds an error to the result of a check if a service account is required and missing.
func (m *compiler) withAccount(tc *v1.TemplateController, result lint.Result) lint.Result {
	if m.store.accounts {
		if r := spec.CheckAccount(&tc.Spec); r != nil {
			result.Compiles, result.Rejection, result.Findings = false, r, finding.Sort(append(result.Findings, r.Findings...))
		}
	}
	return result
}

// lintOf checks a TemplateController, and compiles it where that has not been done.
func lintOf(pause func() error, tc *v1.TemplateController, compiled *spec.Compiled, known openapi.Set) (lint.Result, error) {
	if compiled == nil {
		return lint.CheckWith(pause, tc, known)
	}
	return lint.Recheck(pause, tc, compiled, known)
}

// Schemas is what is known of the fields of objects; openapi.Cache is. It may ask the server.
type Schemas interface {
	openapi.Set
	// Anew returns a Set that does not trust what it has known before.
	Anew(ctx context.Context) openapi.Set
}

// anewLimit is how long a compile step may make sure of what it knows.
const anewLimit = 5 * time.Second

// check takes the compile step with all that is known of kinds. It compiles what has not been compiled. What works for some parents is not
// stopped by what a kind, or a newer templater, shows of it. With an error, the work is to end, and nothing was found out.
func (m *compiler) check(ctx context.Context, tc *v1.TemplateController, compiled *spec.Compiled) (*spec.Compiled, verdict, error) {
	asked := map[schema.GroupKind]bool{}
	result, err := m.examineWith(ctx, tc, compiled, m.schemas, asked)
	if err == nil && result.Rejection != nil && result.Compiles && m.schemas != nil { // definitions that came together with it may not have been watched yet
		anew, cancel := context.WithTimeout(ctx, anewLimit)
		defer cancel()
		result, err = m.examineWith(ctx, tc, result.Compiled, m.schemas.Anew(anew), asked)
	}
	if err != nil {
		return nil, verdict{}, fmt.Errorf("check TemplateController %s: %w", tc.Name, err)
	}
	if result.Rejection != nil && result.Compiles && worksAlready(tc) {
		result.Rejection, result.Findings = nil, demoted(result.Findings)
	}
	return result.Compiled, verdict{rejection: result.Rejection, linted: conditions.Linted(result.Findings), compiles: result.Compiles, asked: asked}, nil
}

// examineWith takes the compile step with what a Set knows, and notes the kinds that it is asked for; nil knows nothing.
func (m *compiler) examineWith(ctx context.Context, tc *v1.TemplateController, compiled *spec.Compiled, known openapi.Set, asked map[schema.GroupKind]bool) (lint.Result, error) {
	if known == nil {
		return m.examine(ctx, tc, compiled, nil)
	}
	return m.examine(ctx, tc, compiled, &noting{known, asked})
}

// refused is the verdict on a TemplateController that is not compiled.
func refused(r *spec.Rejection) verdict {
	return verdict{rejection: r, linted: conditions.Linted(r.Findings), asked: map[schema.GroupKind]bool{}}
}

// worksAlready reports whether a TemplateController was accepted as it is now, and its parents were reconciled.
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

// noting is a Set that notes which kinds it was asked for.
type noting struct {
	openapi.Set
	asked map[schema.GroupKind]bool
}

// Lookup returns what the Set knows of a kind.
func (n *noting) Lookup(gvk schema.GroupVersionKind) (*openapi.Type, bool) {
	n.asked[gvk.GroupKind()] = true
	return n.Set.Lookup(gvk)
}

// learnDelay is how long a change of a kind waits for more of them, so that a CustomResourceDefinition that changes all the time costs few
// checks.
const learnDelay = time.Second

// outdated reports whether it is time to check again because a kind has changed.
func (v *verdict) outdated(now time.Time) bool { return !v.stale.IsZero() && !now.Before(v.stale) }
