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

// TestCompilingForOneTenantKeepsNoNeighbourWaiting has a tenant with more TemplateControllers than are worked on at a time, whose compilation does
// not end, and whose turn is before that of a neighbour.
func TestCompilingForOneTenantKeepsNoNeighbourWaiting(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // the queues of other tests
	c := newCluster(t)
	c.controllers.Close()
	c.hasty = true
	c.startWith(Options{Events: mute{}})
	defer c.controllers.Close()
	release := make(chan struct{})
	c.controllers.lint = func(pause func() error, tc *v1.TemplateController, compiled *spec.Compiled, known openapi.Set) (lint.Result, error) {
		if tc.Name != "neighbour" {
			<-release
		}
		return lintOf(pause, tc, compiled, known)
	}
	for i := range 2 * syncWorkers {
		c.KubectlApply(sized(fmt.Sprint("greedy-", i), "team", 40))
	}
	c.KubectlApply(sized("neighbour", "neighbours", 40))
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { c.controllers.Run(ctx, t.Context()); close(stopped) }()
	defer func() { cancel(); close(release); <-stopped }()
	eventually(t, "the neighbour runs", func() bool { return c.controllers.get("neighbour") != nil })
}
