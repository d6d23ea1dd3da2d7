package controllers

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// TestSpecIsCompiledOncePerChange counts compilations. TestCompileParsesRejectedSpecOnce of package spec shows that a
// rejected spec needs no more compilations than an accepted one.
func TestSpecIsCompiledOncePerChange(t *testing.T) {
	c := newCluster(t)
	compiled := c.compilations()
	for _, row := range []struct {
		why  string
		do   func()
		want int
	}{
		{"a new spec", func() { c.KubectlApply(apps); c.KubectlApply(app) }, 1},
		{"a resync of an accepted spec", func() { c.controllers.queue.Add("apps") }, 0},
		{"a parent changes", func() { c.KubectlApply(newApp(withChildren("a", "b", "c"))) }, 0},
		{"a rejected spec", func() { c.KubectlApply(with(t, apps, "  children:\n", "  resyncPeriod: often\n  children:\n")) }, 1},
		{"a resync of a rejected spec", func() { c.controllers.queue.Add("apps") }, 0},
		{"a restart with a rejected spec", func() { c.start(); compiled = c.compilations() }, 1},
		{"another spec", func() { c.KubectlApply(with(t, apps, "  children:\n", "  resyncPeriod: 1h\n  children:\n")) }, 1},
		{"a restart with an accepted spec", func() { c.start(); compiled = c.compilations() }, 1},
		{"this replica leads", func() { c.controllers.Lead() }, 0},
	} {
		t.Run(row.why, func(t *testing.T) {
			clear(compiled)
			row.do()
			c.Settle()
			if got := compiled["apps"]; got != row.want {
				t.Errorf("compiled %d times, want %d", got, row.want)
			}
		})
	}
}

// TestSlowCompilationDoesNotBlockOtherTenants: a tenant has more TemplateControllers than sync workers, and its
// compilations never end. Its turn is before that of another tenant.
func TestSlowCompilationDoesNotBlockOtherTenants(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // ignores the queues of other tests
	c := newCluster(t)
	c.controllers.Close()
	c.hasty = true
	c.startWith(Options{Events: mute{}})
	defer c.controllers.Close()
	release, free := context.WithCancel(t.Context())
	released := func() bool { return release.Err() != nil }
	c.controllers.checker.Lint = func(pause func() error, tc *v1.TemplateController, compiled *spec.Compiled, known openapi.Set) (lint.Result, error) {
		for tc.Name != "neighbor" && !released() {
			if err := pause(); err != nil {
				return lint.Result{}, err
			}
		}
		return lint.Recheck(pause, tc, compiled, known)
	}
	for i := range 2 * syncWorkers {
		c.KubectlApply(sized(fmt.Sprint("greedy-", i), "team", 40))
	}
	c.KubectlApply(sized("neighbor", "neighbors", 40))
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { c.controllers.Run(ctx, t.Context()); close(stopped) }()
	defer func() { cancel(); free(); <-stopped }()
	eventually(t, "the neighbor runs", func() bool { return c.controllers.get("neighbor") != nil })
}
