package controllers

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// asks notifies the worker of a request, like a Client, and returns a function that notifies it of the response.
func asks(ctx context.Context) func() {
	own := queue.WorkerOf(ctx)
	if own == nil {
		return func() {}
	}
	own.Asked()
	return func() { own.Answered(0) }
}

// hanging is a Client whose writes hang until release is closed.
type hanging struct {
	controller.Client
	release chan struct{}
}

func (h hanging) Apply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	answered := asks(ctx)
	<-h.release
	answered()
	return h.Client.Apply(ctx, at, body, manager)
}

func (h hanging) Delete(ctx context.Context, at request.Location, d request.Deletion) error {
	answered := asks(ctx)
	<-h.release
	answered()
	return h.Client.Delete(ctx, at, d)
}

// costly is a Client whose writes take the given time of the fake clock.
type costly struct {
	*cluster
	took time.Duration
}

func (w costly) Apply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	answered := asks(ctx)
	w.Clock.SetTime(w.Clock.Now().Add(w.took))
	answered()
	return w.cluster.Apply(ctx, at, body, manager)
}

func works(busy []queue.Work) []string {
	out := []string{}
	for _, w := range busy {
		out = append(out, w.String())
	}
	slices.Sort(out)
	return out
}

func TestBusyReportsHangingWorker(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // ignores the queues of other tests
	c := newCluster(t)
	defer c.controllers.queue.ShutDown()
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.RemoveNow(configMap("a"))
	h := hanging{c, make(chan struct{})}
	c.controllers.get("apps").Cluster = h
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { c.Reconciler.Run(ctx, t.Context()); close(stopped) }()
	eventually(t, "the reconciliation begins", func() bool { return len(c.Reconciler.Busy()) == 1 })
	since := c.Clock.Now()
	c.Clock.SetTime(since.Add(time.Hour))
	busy := c.Reconciler.Busy()
	if diff := cmp.Diff([]string{"reconciliation of ns/one for TemplateController apps"}, works(busy)); diff != "" || !busy[0].Since.Equal(since) {
		t.Errorf("busy since %v (-want +got):\n%s", busy[0].Since, diff)
	}
	close(h.release)
	eventually(t, "the worker is free again", func() bool { return len(c.Reconciler.Busy()) == 0 })
	cancel()
	<-stopped
}

func TestWaitingForReconciliationsIsNotBusy(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	ctx := c.controllers.tracker.Join(t.Context())
	queue.WorkerOf(ctx).Begin(queue.Key{Controller: "apps"})
	_, leave := c.controllers.Enter("apps") // a slow reconciliation
	done := make(chan struct{})
	go func() { c.controllers.stop(ctx, "apps"); close(done) }()
	eventually(t, "the worker is not counted as busy", func() bool { return len(c.controllers.Busy()) == 0 })
	leave()
	<-done
	if diff := cmp.Diff([]string{"sync of TemplateController apps"}, works(c.controllers.Busy())); diff != "" {
		t.Errorf("busy (-want +got):\n%s", diff)
	}
}

func TestTemplateControllersArePendingUntilFirstSync(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // ignores the queues of other tests
	c := newCluster(t)
	c.controllers.queue.ShutDown()
	c.ParentQueue.ShutDown()
	c.KubectlApply(apps)
	c.KubectlApply(with(t, withSpec(t, apps, "whenDeleted: DeleteChildren"), "name: apps", "name: broken"))
	c.Refuse["finalizers[templater.dev/children] templatecontrollers broken"] = errors.New("no")
	c.start()
	defer c.controllers.Close()
	if diff := cmp.Diff([]string{"apps", "broken"}, c.controllers.Pending()); diff != "" {
		t.Errorf("pending at first (-want +got):\n%s", diff)
	}
	for c.controllers.queue.Len() > 0 { // one after the other, because the fake cluster is not concurrent
		c.controllers.next(t.Context(), t.Context(), func() {})
	}
	if pending := c.controllers.Pending(); len(pending) > 0 {
		t.Errorf("pending after all were looked at, with whatever result: %v", pending)
	}
}

// overCredit makes the tenant of a controller exhaust its credit. Another tenant has just made a request, too.
func (s *shared) overCredit(t *testing.T, controller string, clock *clocktesting.FakePassiveClock) {
	t.Helper()
	for _, request := range []struct {
		of   string
		size int
	}{{controller, 100 << 20}, {"other", 0}} {
		own := queue.WorkerOf(s.reconcilers.Join(t.Context()))
		own.Begin(queue.Key{Controller: request.of})
		own.Asked()
		clock.SetTime(clock.Now().Add(time.Second))
		own.Answered(request.size)
		own.End()
	}
}

func TestTenantOverBudgetHasLimitedConcurrency(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	s := newShared(Options{Clock: clock, Workers: 8, RolloutWorkers: 2})
	defer s.parents.ShutDown()
	s.tenants.Set("apps", nil)
	s.overCredit(t, "apps", clock)
	for _, parent := range []string{"a", "b"} {
		s.parents.Add(queue.Key{Controller: "apps", Parent: types.NamespacedName{Namespace: "ns", Name: parent}})
	}
	key, _ := s.parents.Get()
	if n := s.parents.Len(); n > 0 {
		t.Errorf("%d reconciliations may begin beside the first, want none", n)
	}
	s.parents.Done(key)
	if n := s.parents.Len(); n != 1 {
		t.Errorf("%d reconciliations may begin after the first, want one", n)
	}
}

func TestTenantOverBudgetIsThrottled(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.RemoveNow(configMap("a"))
	const took = 100 * time.Millisecond
	c.controllers.get("apps").Cluster = costly{c, took}
	c.shared.overCredit(t, "apps", c.Clock)
	start := time.Now()
	c.Reconciler.Next(t.Context(), c.shared.reconcilers.Join(t.Context()), func() {})
	if got := time.Since(start); got < took {
		t.Errorf("the reconciliation is over after %v, want that it rests for the %v that its request has taken", got, took)
	}
}
