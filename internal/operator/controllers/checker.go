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
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

// checker checks TemplateControllers as an operator does. It is safe for concurrent use.
type checker struct {
	// RequireAccount is whether a TemplateController must name a service account.
	RequireAccount bool
	// Schemas say which fields objects have; nil = nothing is known of them.
	Schemas Schemas
	// Lint is lint.Recheck, but in tests.
	Lint func(pause func() error, tc *v1.TemplateController, compiled *spec.Compiled, schemas openapi.Set) (lint.Result, error)
}

// Schemas is what is known of the fields of objects; openapi.Cache is. It may ask the server.
type Schemas interface {
	openapi.Set
	// Anew returns a Set that does not trust what it has known before.
	Anew(ctx context.Context) openapi.Set
}

// Check checks a TemplateController that is about to be written, with these schemas; nil knows of no kind. The error is that of ctx, and ends
// it.
func (c *checker) Check(ctx context.Context, tc *v1.TemplateController, schemas openapi.Set) (lint.Result, error) {
	result, err := lint.CheckWith(ctx.Err, tc, schemas)
	return c.withAccount(tc, result), err
}

// anewLimit is how long Serve may make sure of what it knows.
const anewLimit = 5 * time.Second

// Serve checks a TemplateController that is to be served, and returns the kinds whose fields the result depends on. It compiles the spec
// unless that was done before; nil = it was not. A TemplateController that works for some parents is not stopped by what a kind, or a newer
// templater, shows of it. With an error, which is that of pause, nothing was found out.
func (c *checker) Serve(ctx context.Context, pause func() error, tc *v1.TemplateController, compiled *spec.Compiled) (lint.Result, map[schema.GroupKind]bool, error) {
	asked := map[schema.GroupKind]bool{}
	check := func(compiled *spec.Compiled, schemas openapi.Set) (lint.Result, error) {
		if schemas != nil {
			schemas = &noting{schemas, asked}
		}
		result, err := c.Lint(pause, tc, compiled, schemas)
		return c.withAccount(tc, result), err
	}
	result, err := check(compiled, c.Schemas)
	if err == nil && result.Rejection != nil && result.Compiles && c.Schemas != nil { // definitions that came together with it may not have been watched yet
		anew, cancel := context.WithTimeout(ctx, anewLimit)
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
