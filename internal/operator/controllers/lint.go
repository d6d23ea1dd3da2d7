package controllers

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

// checker checks TemplateControllers in the operator. It is safe for concurrent use.
type checker struct {
	// RequireAccount: a TemplateController must have a service account.
	RequireAccount bool
	// Schemas are the schemas of objects; nil = none are known.
	Schemas Schemas
	// Lint is lint.Recheck, except in tests.
	Lint func(pause func() error, tc *v1.TemplateController, compiled *spec.Compiled, schemas openapi.Set) (lint.Result, error)
}

// Schemas provides the schemas of objects. openapi.Cache implements it. It may send requests to the API server.
type Schemas interface {
	openapi.Set
	// Anew returns a Set that ignores cached results.
	Anew(ctx context.Context) openapi.Set
}

// Check checks a TemplateController under review with these schemas; nil means that none are known. It stops when ctx
// is done, and returns its error.
func (c *checker) Check(ctx context.Context, tc *v1.TemplateController, schemas openapi.Set) (lint.Result, error) {
	pause := queue.WorkerOf(ctx).Pauses()
	if pause == nil {
		pause = ctx.Err
	}
	result, err := lint.CheckWith(pause, tc, schemas)
	return c.withAccount(tc, result), err
}

// refreshTimeout limits how long Serve may refresh schemas.
const refreshTimeout = 5 * time.Second

// Serve checks a TemplateController that is served, and returns the kinds whose schemas the result depends on. It
// compiles the spec unless compiled is set. A TemplateController that already works for some parents is not stopped by
// errors that the schema of a kind, or a newer templater, reveals. On an error, which is that of pause, there is no
// result.
func (c *checker) Serve(ctx context.Context, pause func() error, tc *v1.TemplateController, compiled *spec.Compiled) (lint.Result, map[schema.GroupKind]bool, error) {
	asked := map[schema.GroupKind]bool{}
	check := func(compiled *spec.Compiled, schemas openapi.Set) (lint.Result, error) {
		if schemas != nil {
			schemas = &recordingSet{schemas, asked}
		}
		result, err := c.Lint(pause, tc, compiled, schemas)
		return c.withAccount(tc, result), err
	}
	result, err := check(compiled, c.Schemas)
	if err == nil && result.Rejection != nil && result.Compiles && c.Schemas != nil { // CRDs that were created together with it may not have been watched yet
		anew, cancel := context.WithTimeout(ctx, refreshTimeout)
		defer cancel()
		result, err = check(result.Compiled, c.Schemas.Anew(anew))
	}
	if err == nil && result.Rejection != nil && result.Compiles && worksAlready(tc) {
		result.Rejection, result.Findings = nil, demoted(result.Findings)
	}
	return result, asked, err
}

// withAccount adds an error to the result of a check if a service account is required and missing.
func (c *checker) withAccount(tc *v1.TemplateController, result lint.Result) lint.Result {
	if c.RequireAccount {
		if r := spec.CheckAccount(&tc.Spec); r != nil {
			result.Compiles, result.Rejection, result.Findings = false, r, finding.Sort(append(result.Findings, r.Findings...))
		}
	}
	return result
}

// worksAlready reports whether the current generation of a TemplateController was accepted, and its parents were
// watched.
func worksAlready(tc *v1.TemplateController) bool {
	watching := meta.FindStatusCondition(tc.Status.Conditions, v1.ConditionWatching)
	return watching != nil && watching.Status == metav1.ConditionTrue && watching.ObservedGeneration == tc.Generation
}

// demoted returns the lint findings with errors changed to warnings.
func demoted(all []finding.Finding) []finding.Finding {
	all = slices.Clone(all)
	for i := range all {
		all[i].Severity = finding.Warning
	}
	return finding.Sort(all)
}

// recordingSet is a Set that records the kinds it was asked for.
type recordingSet struct {
	openapi.Set
	asked map[schema.GroupKind]bool
}

// Lookup returns the schema of a kind.
func (n *recordingSet) Lookup(gvk schema.GroupVersionKind) (*openapi.Type, bool) {
	n.asked[gvk.GroupKind()] = true
	return n.Set.Lookup(gvk)
}
