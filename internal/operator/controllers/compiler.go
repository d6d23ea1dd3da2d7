package controllers

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/operator/controllers/conditions"
	"github.com/templater-dev/templater/internal/operator/controllers/quota"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

// compiler compiles and checks TemplateControllers, within the memory limit.
type compiler struct {
	*registry

	checks  *checks
	memory  *quota.Memory
	checker *checker
}

// Refuse returns the errors of a TemplateController under review that would not be compiled because of its size, or
// nil.
func (m *compiler) Refuse(tc *v1.TemplateController) []finding.Finding {
	if r := m.memory.Refuse(tc); r != nil {
		return r.Findings
	}
	return nil
}

// Check compiles and checks a TemplateController under review: see checker. It rejects a spec that would not be
// compiled because of its size.
func (m *compiler) Check(ctx context.Context, tc *v1.TemplateController, known openapi.Set) (lint.Result, error) {
	if r := m.memory.Refuse(tc); r != nil {
		return lint.Result{Rejection: r, Findings: r.Findings}, nil
	}
	return m.checker.Check(ctx, tc, known)
}

// verdict is the result of the compile step for a TemplateController.
type verdict struct {
	rejection *spec.Rejection // nil = accepted
	linted    metav1.Condition
	compiles  bool // the spec is valid, regardless of the schemas of objects
	// asked has the kinds whose schemas the verdict depends on; stale is when to check again because one of them has
	// changed, zero = never.
	asked map[schema.GroupKind]bool
	stale time.Time
}

// refused returns the verdict for a TemplateController that is not compiled.
func refused(r *spec.Rejection) verdict {
	return verdict{rejection: r, linted: conditions.Linted(r.Findings, true), asked: map[schema.GroupKind]bool{}}
}

// outdated reports whether the spec must be checked again because a kind has changed.
func (v *verdict) outdated(now time.Time) bool { return !v.stale.IsZero() && !now.Before(v.stale) }

// check checks a spec, and compiles it unless compiled is set. On an error, the work must stop, and there is no result.
func (m *compiler) check(ctx context.Context, tc *v1.TemplateController, compiled *spec.Compiled) (*spec.Compiled, verdict, error) {
	result, asked, err := m.checker.Serve(ctx, queue.WorkerOf(ctx).Pauses(), tc, compiled)
	if err != nil {
		return nil, verdict{}, fmt.Errorf("check %s: %w", v1.Describe(tc.Key()), err)
	}
	return result.Compiled, verdict{rejection: result.Rejection, linted: conditions.Linted(result.Findings, result.Rejection != nil), compiles: result.Compiles, asked: asked}, nil
}

// work is what the compile step has to do for a TemplateController. It is decided each time that one is read.
type work struct {
	rejection *spec.Rejection // why there is no memory to compile the spec; nil = there is
	fresh     bool            // the spec has changed, or whether there is memory for it
	check     bool            // the spec must be checked: it is fresh, or the schemas of its kinds have changed
	stale     time.Duration   // until the spec must be checked again because of its kinds; 0 = never
}

// long reports whether the work needs a processor.
func (w work) long() bool { return w.check && w.rejection == nil }

// workOn decides what the compile step has to do: nothing for a TemplateController of another class.
func (m *compiler) workOn(packed *object.Object, tc *v1.TemplateController) (w work) {
	if tc.Spec.ClassName != m.checks.class {
		return work{}
	}
	w.rejection = m.memory.Admit(tc, func() (int, string) { return store.SizeOf(packed, tc), store.RevisionOf(packed, tc) })
	now := m.clock.Now()
	m.mu.RLock()
	defer m.mu.RUnlock()
	e := m.tracked[tc.Key()]
	if e == nil || e.uid != tc.UID {
		w.fresh, w.check = true, true
		return w
	}
	w.fresh = e.generation != tc.Generation || e.refused != (w.rejection != nil)
	w.check = w.fresh || e.outdated(now)
	if !e.stale.IsZero() {
		w.stale = e.stale.Sub(now)
	}
	return w
}

// admitAll decides which of the existing TemplateControllers may be compiled.
func (m *compiler) admitAll() {
	var packed []*object.Object // decoded later, without the lock of the cache
	m.checks.Each(func(o *object.Object) {
		packed = append(packed, o)
	})
	var demands []*quota.Demand
	for _, o := range packed {
		if tc, err := store.Decode(o); err == nil && tc.Spec.ClassName == m.checks.class { // on an error, it is synced again
			m.tenants.Set(tc.Key(), tc.Spec.ServiceAccountRef)
			demands = append(demands, m.memory.DemandOf(tc, store.SizeOf(o, tc), store.RevisionOf(o, tc)))
		}
	}
	m.memory.Begin(demands)
}
