package reconciletest

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// Operator contains the components under test. Tests drive them: see Run.
type Operator struct {
	Reconciler      *reconcile.Reconciler
	ParentQueue     *Timed[queue.Key]
	ControllerQueue *Timed[string]
	Sync            func(name string) // syncs a TemplateController
	Rights          *permissions.Tracker
	LogFetcher      *podlogs.Fetcher
	StatusDelay     time.Duration // debounces the status of TemplateControllers
}

// Run processes both queues until they are empty, and returns the requests. Delays use the fake clock. Caches contain
// own writes only.
func (c *Cluster) Run() []string {
	c.T.Helper()
	before := len(c.Requests)
	for range 1000 {
		c.ParentQueue.Release()
		c.ControllerQueue.Release()
		if !c.work() {
			return c.requestsSince(before)
		}
	}
	c.T.Fatal("the queues did not drain")
	return nil
}

// work empties the queues and reports whether they contained anything.
func (c *Cluster) work() bool {
	progress := c.RunControllers()
	for c.ParentQueue.Len() > 0 {
		key, _ := c.ParentQueue.Get()
		c.Reconciler.Requeue(key, c.Reconciler.Reconcile(c.Context(), key))
		c.ParentQueue.Done(key)
		progress = true
	}
	for !c.NoReviews && c.Rights.Len() > 0 {
		c.Rights.Next(c.Context())
		progress = true
	}
	return progress
}

// RunControllers processes the queue of TemplateControllers until it is empty, and reports whether it contained
// anything.
func (c *Cluster) RunControllers() bool {
	progress := false
	for c.ControllerQueue.Len() > 0 {
		name, _ := c.ControllerQueue.Get()
		c.Sync(name)
		c.ControllerQueue.Done(name)
		progress = true
	}
	return progress
}

// Settle runs, updates the caches, collects garbage and advances the clock, until another reconciliation of the queued
// items changes nothing. It returns all requests, and fails the test if that never happens.
func (c *Cluster) Settle() []string {
	c.T.Helper()
	before := len(c.Requests)
	parents, controllers := idle[queue.Key]{}, idle[string]{}
	for range 10_000 {
		version := c.Version
		c.Run()
		c.Deliver()
		if c.Version != version || c.CollectGarbage() {
			parents, controllers = idle[queue.Key]{}, idle[string]{}
			c.Deliver()
			continue
		}
		if c.Queued() > 0 {
			continue
		}
		next := c.ParentQueue.Next(parents.is)
		if at := c.ControllerQueue.Next(controllers.is); next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
		if next.IsZero() {
			return c.requestsSince(before)
		}
		if next.After(c.Clock.Now()) {
			c.Clock.SetTime(next)
		}
		parents.note(c.ParentQueue.Release())
		controllers.note(c.ControllerQueue.Release())
	}
	c.T.Fatal("it did not converge")
	return nil
}

// Queued returns the number of items in both queues.
func (c *Cluster) Queued() int { return c.ParentQueue.Len() + c.ControllerQueue.Len() }

// requestsSince returns the requests after the first ones; it is not nil.
func (c *Cluster) requestsSince(first int) []string { return append([]string{}, c.Requests[first:]...) }

// SettleWrites is Settle, without requests that only read.
func (c *Cluster) SettleWrites() []string {
	c.T.Helper()
	return slices.DeleteFunc(c.Settle(), func(request string) bool {
		return strings.Contains(request, "get ") || strings.Contains(request, "list ")
	})
}

// Reconcile reconciles a parent in namespace ns once, and returns the requests.
func (c *Cluster) Reconcile(controller, parent string) (reconcile.Result, []string) {
	c.T.Helper()
	before := len(c.Requests)
	result := c.Reconciler.Reconcile(c.Context(), queue.Key{Controller: controller, Parent: types.NamespacedName{Namespace: "ns", Name: parent}})
	return result, c.requestsSince(before)
}

// ReconcileOne reconciles the parent One, updates the caches, and returns the requests.
func (c *Cluster) ReconcileOne() []string {
	c.T.Helper()
	_, requests := c.Reconcile("apps", "one")
	c.Deliver()
	return requests
}

// Begin applies objects and reconciles everything. It checks that the resulting watch events cause no request.
func (c *Cluster) Begin(manifests ...string) {
	c.T.Helper()
	for _, m := range manifests {
		c.KubectlApply(m)
	}
	c.Run()
	c.WantQuiet("the beginning")
}

// WantQuiet updates the caches and checks that this causes no request.
func (c *Cluster) WantQuiet(what string) {
	c.T.Helper()
	c.Deliver()
	WantRequests(c.T, what+", and then", c.Run())
}

// FetchLogs runs until all logs have been read, and returns the requests.
func (c *Cluster) FetchLogs() []string {
	c.T.Helper()
	all := []string{}
	for {
		made := c.Run()
		all = append(all, made...)
		c.LogFetcher.Wait()
		if len(made) == 0 && c.ParentQueue.Len() == 0 {
			return all
		}
	}
}

// SettleLogs runs until all logs have been read and the queues are empty. It also writes the status of
// TemplateControllers.
func (c *Cluster) SettleLogs() {
	c.T.Helper()
	for {
		made := c.FetchLogs()
		c.Deliver()
		c.Advance(c.StatusDelay)
		if len(made) == 0 && c.Queued() == 0 {
			c.Run()
			return
		}
	}
}

// Advance advances the clock.
func (c *Cluster) Advance(d time.Duration) { c.Clock.SetTime(c.Clock.Now().Add(d)) }

// Context returns the context of the test, without its cancellation, so that cleanup functions can use it.
func (c *Cluster) Context() context.Context { return context.WithoutCancel(c.T.Context()) }
