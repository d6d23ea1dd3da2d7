package controllers

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/controllers/conditions"
	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/lint"
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
	if c.accounts {
		if r := spec.CheckAccount(&tc.Spec); r != nil {
			result.Rejection, result.Findings = r, finding.Sort(append(result.Findings, r.Findings...))
		}
	}
	return result
}

// Schemas is what is known of the fields of objects; schemas.Cache is. It may ask the server.
type Schemas interface {
	schemas.Set
	// Anew returns a Set that does not trust what it has known before.
	Anew(ctx context.Context) schemas.Set
}

// anewLimit is how long a compile step may make sure of what it knows.
const anewLimit = 5 * time.Second

// check takes the compile step with all that is known of kinds.
func (c *Controllers) check(ctx context.Context, tc *v1.TemplateController) (*spec.Compiled, verdict) {
	asked := map[schema.GroupKind]bool{}
	if c.schemas == nil {
		return c.verdict(tc, c.Check(tc, nil), asked)
	}
	result := c.Check(tc, &noting{c.schemas, asked})
	if result.Rejection != nil && c.compiles(tc) { // definitions that came together with it may not have been watched yet
		ctx, cancel := context.WithTimeout(ctx, anewLimit)
		defer cancel()
		result = c.Check(tc, &noting{c.schemas.Anew(ctx), asked})
	}
	return c.verdict(tc, result, asked)
}

// verdict says what comes of a result. What works for some parents is not stopped by what a kind, or a newer templater, shows of it.
func (c *Controllers) verdict(tc *v1.TemplateController, result lint.Result, asked map[schema.GroupKind]bool) (*spec.Compiled, verdict) {
	if result.Rejection != nil && worksAlready(tc) && c.compiles(tc) {
		result.Rejection, result.Findings = nil, demoted(result.Findings)
	}
	return result.Compiled, verdict{rejection: result.Rejection, linted: conditions.Linted(result.Findings), asked: asked}
}

// compiles reports whether a spec makes sense, whatever fields objects have.
func (c *Controllers) compiles(tc *v1.TemplateController) bool {
	_, rejection := spec.Compile(tc.Name, &tc.Spec)
	return rejection == nil && (!c.accounts || spec.CheckAccount(&tc.Spec) == nil)
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

// KindLearned has the TemplateControllers checked again whose verdict depends on a kind.
func (c *Controllers) KindLearned(gk schema.GroupKind) {
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
