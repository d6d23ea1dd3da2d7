package controllers

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

func TestLintedConditionIsAlwaysSet(t *testing.T) {
	for want, controller := range map[string]string{
		"True NoWarnings: no warnings":                            apps,
		"Unknown NotAccepted: unknown until the spec is accepted": with(t, apps, "$.spec.text", "$.nothing"),
	} {
		t.Run(want, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(controller)
			c.Run()
			if got := c.Condition("templatecontrollers", "apps", "Linted"); got != want {
				t.Errorf("Linted is %q, want %q", got, want)
			}
		})
	}
}

// set is a Set without known kinds.
type set struct{}

func (set) Lookup(schema.GroupVersionKind) (*openapi.Type, bool) { return nil, true }

func (set) Anew(context.Context) openapi.Set { return set{} }

// builtIn contains the schemas of built-in kinds.
type builtIn struct{ openapi.Set }

func (b builtIn) Anew(context.Context) openapi.Set { return b }

// TestTemplateWaitsOnlyForFieldsInSchema: a field that is not in the schema of its kind is an error.
func TestTemplateWaitsOnlyForFieldsInSchema(t *testing.T) {
	for field, want := range map[string]string{
		"active":  "False Waiting: children[web] waits for .status.active of Job ns/db; ",
		"actives": "False TemplateError: children[web]:",
	} {
		t.Run(field, func(t *testing.T) {
			c := newCluster(t)
			c.startWith(Options{Schemas: builtIn{openapi.BuiltIn()}})
			c.controllers.checker.Lint = func(pause func() error, tc *v1.TemplateController, compiled *spec.Compiled, _ openapi.Set) (lint.Result, error) {
				return lint.Recheck(pause, tc, compiled, nil)
			}
			c.KubectlApply(with(t, reconciletest.Shop, "(named \"db\" .children.db).status.host", "(named \"db\" .children.db).status."+field))
			c.KubectlApply(reconciletest.ShopApp)
			c.Run()
			c.SetJobStatus("db", "{conditions: [{type: Complete, status: 'True'}]}")
			c.Run()
			if ready := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(ready, want) {
				t.Errorf("ready %s, want %s", ready, want)
			}
		})
	}
}

// learned starts an operator whose compile step finds an error once the schema of Apps is known. learn makes it known.
func (c *cluster) learned() (learn func()) {
	known := false
	c.startWith(Options{Schemas: set{}})
	c.controllers.checker.Lint = func(pause func() error, tc *v1.TemplateController, compiled *spec.Compiled, types openapi.Set) (lint.Result, error) {
		result, err := lint.Recheck(pause, tc, compiled, types)
		if types == nil {
			return result, err
		}
		types.Lookup(schema.FromAPIVersionAndKind(tc.Spec.Watch.APIVersion, tc.Spec.Watch.Kind))
		if known {
			result.Rejection = spec.Rejectf(v1.ReasonInvalidTemplate, "children[maps]:1:2: App has no field .spec.x")
			result.Findings = []finding.Finding{{Severity: finding.Error, Where: "children[maps]", Line: 1, Column: 2, Message: "App has no field .spec.x"}}
		}
		return result, err
	}
	return func() {
		defer func() { c.Clock.SetTime(c.Clock.Now().Add(learnDelay)) }()
		known = true
		c.controllers.KindLearned(schema.GroupKind{Group: "example.org", Kind: "Gadget"}) // no TemplateController uses it
		if !c.controllers.tracked["apps"].stale.IsZero() {
			c.T.Error("apps is checked again because of a kind that it has nothing to do with")
		}
		c.controllers.KindLearned(schema.GroupKind{Group: "example.org", Kind: "App"})
	}
}

func TestLateSchemaUpdatesAcceptedAndLinted(t *testing.T) {
	const failure = "children[maps]:1:2: App has no field .spec.x"
	c := newCluster(t)
	learn := c.learned()
	c.KubectlApply(apps)
	c.KubectlApply(app)
	wantRequests(t, "at first", c.Run(), "create configmaps a", "create configmaps b", "status apps one")

	learn()
	wantRequests(t, "what works is not stopped", c.Run())
	expect := func(when, accepted, linted string) {
		t.Helper()
		for kind, want := range map[string]string{"Accepted": accepted, "Linted": linted} {
			if got := c.Condition("templatecontrollers", "apps", kind); got != want {
				t.Errorf("%s: %s is %q, want %q", when, kind, got, want)
			}
		}
	}
	expect("while it works", "True Accepted: the spec is valid", "False Warnings: 1 warning: "+failure)
	wantRequests(t, "again", c.Run())

	c.KubectlApply(with(t, apps, "  children:\n", "  resyncPeriod: 1h\n  children:\n"))
	wantRequests(t, "the next spec is not accepted", c.Run())
	expect("the next spec", "False InvalidTemplate: "+failure+"; the last accepted revision keeps working", "Unknown NotAccepted: unknown until the spec is accepted")
}

// countChecks starts an operator with a TemplateController of Apps, and counts its checks from then on.
func (c *cluster) countChecks(checks *int) {
	c.T.Helper()
	c.startWith(Options{Schemas: set{}})
	c.controllers.checker.Lint = func(pause func() error, tc *v1.TemplateController, compiled *spec.Compiled, types openapi.Set) (lint.Result, error) {
		*checks++
		types.Lookup(schema.FromAPIVersionAndKind(tc.Spec.Watch.APIVersion, tc.Spec.Watch.Kind))
		return lint.Recheck(pause, tc, compiled, types)
	}
	c.KubectlApply(apps)
	c.Settle()
	*checks = 0
}

// TestFrequentSchemaChangesAreDebounced edits a CRD 20 times per second.
func TestFrequentSchemaChangesAreDebounced(t *testing.T) {
	c := newCluster(t)
	checks := 0
	c.countChecks(&checks)
	const seconds = 10
	for range 20 * seconds {
		c.Clock.SetTime(c.Clock.Now().Add(time.Second / 20))
		c.controllers.KindLearned(schema.GroupKind{Group: "example.org", Kind: "App"})
		c.controllers.kindChanged(schema.GroupKind{Group: "example.org", Kind: "App"})
		c.Run()
	}
	if checks > seconds {
		t.Errorf("%d checks in %d seconds", checks, seconds)
	}
	before := checks
	c.Settle()
	if checks != before+1 {
		t.Errorf("%d checks after the last change, want one", checks-before)
	}
}

// TestEarlierSyncDoesNotSkipSchemaCheck syncs the TemplateController for another reason within the delay. The queue
// only keeps the earliest time for each key.
func TestEarlierSyncDoesNotSkipSchemaCheck(t *testing.T) {
	c := newCluster(t)
	checks := 0
	c.countChecks(&checks)
	c.controllers.KindLearned(schema.GroupKind{Group: "example.org", Kind: "App"})
	c.controllers.queue.AddAfter("apps", learnDelay/2)
	for range 2 {
		c.Clock.SetTime(c.Clock.Now().Add(learnDelay / 2))
		c.Run()
	}
	if checks != 1 {
		t.Errorf("%d checks once the delay is over, want one", checks)
	}
}
