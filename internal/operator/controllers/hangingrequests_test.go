package controllers

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// telling is a Client that reports each applied child, and writes nothing.
type telling struct {
	controller.Client
	applied chan string
}

func (w telling) Apply(ctx context.Context, at request.Location, _ []byte, _ string) (*object.Object, error) {
	defer asks(ctx)()
	w.applied <- at.Name
	return nil, context.Canceled
}

func (w telling) ApplyStatus(context.Context, request.Location, []byte, string, bool) (*object.Object, error) {
	return nil, context.Canceled
}

// tells waits until that many children were applied.
func (w telling) tells(t *testing.T, want int, meanwhile func()) {
	t.Helper()
	got := map[string]bool{}
	eventually(t, fmt.Sprintf("%d children are applied", want), func() bool {
		meanwhile()
		select {
		case name := <-w.applied:
			got[name] = true
		default:
		}
		return len(got) == want
	})
}

// mute discards Events.
type mute struct{}

func (mute) Announce(request.Announcement) {}

// endless is a Client whose writes last until their context is done.
type endless struct{ telling }

func (w endless) Apply(ctx context.Context, _ request.Location, _ []byte, _ string) (*object.Object, error) {
	defer asks(ctx)()
	<-ctx.Done()
	return nil, ctx.Err()
}

// several returns a cluster with that many parents, "0", "1"…, per controller, none of which has its child.
func several(t *testing.T, parents int, controllers ...string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.controllers.Close()
	c.hasty = true
	c.startWith(Options{Workers: 2, Events: mute{}}) // the Events are concurrent
	for _, name := range controllers {
		c.KubectlApply(with(t, apps, "name: apps", "name: "+name, "{name: {{ . }}}", "{name: "+name+"-{{ $.metadata.name }}}"))
	}
	for i := range parents {
		c.KubectlApply(with(t, app, "name: one", fmt.Sprintf("name: %q", fmt.Sprint(i)), "[a, b]", "[a]"))
	}
	c.Run()
	c.Deliver()
	c.Run()
	for i := range parents {
		for _, name := range controllers {
			c.RemoveNow(configMap(fmt.Sprintf("%s-%d", name, i)))
		}
	}
	c.Deliver()
	reconciletest.Take(c.ParentQueue)
	return c
}

func TestHangingRequestsDoNotBlockOtherControllers(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // ignores the queues of other tests
	c := several(t, 4, "hangs", "too", "works")
	defer c.controllers.Close()
	slow, quick := telling{applied: make(chan string, 100)}, telling{applied: make(chan string, 100)}
	h := hanging{slow, make(chan struct{})}
	c.controllers.get("hangs").Cluster, c.controllers.get("too").Cluster, c.controllers.get("works").Cluster = h, h, quick
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	for _, controller := range []string{"hangs", "too"} {
		for i := range 4 {
			c.ParentQueue.Add(keyOf(controller, fmt.Sprint(i)))
		}
	}
	go func() { c.Reconciler.Run(ctx, t.Context()); close(stopped) }()
	eventually(t, "all workers hang", func() bool { return len(c.Reconciler.Busy()) == 2 })
	for i := range 4 {
		c.ParentQueue.Add(keyOf("works", fmt.Sprint(i)))
	}
	quick.tells(t, 4, func() {}) // immediately
	running := func(name string) (n int) {
		for _, work := range c.Reconciler.Busy() {
			if work.Key.Controller == name {
				n++
			}
		}
		return n
	}
	for _, name := range []string{"hangs", "too"} {
		if n := running(name); n != 1 {
			t.Errorf("%d reconciliations for %s are under way, want 1: there are two workers", n, name)
		}
	}
	eventually(t, "each has as many reconciliations as there are workers, since they hang", func() bool {
		c.Clock.SetTime(c.Clock.Now().Add(queue.Patience))
		return running("hangs") == 2 && running("too") == 2
	})
	close(h.release)
	slow.tells(t, 8, func() {})
	eventually(t, "there are as many workers as before", func() bool { return c.shared.reconcilers.Workers() == 2 })
	cancel()
	<-stopped
}

func TestStopCancelsHangingReconciliations(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // ignores the queues of other tests
	c := several(t, 2, "apps", "other")
	defer c.controllers.Close()
	c.controllers.get("apps").Cluster, c.controllers.get("other").Cluster = endless{}, endless{}
	ctx, cancel := context.WithCancel(t.Context())
	work, abort := context.WithCancel(t.Context())
	defer abort()
	stopped := make(chan struct{})
	c.ParentQueue.Add(keyOf("apps", "0"))
	c.ParentQueue.Add(keyOf("other", "0"))
	go func() { c.Reconciler.Run(ctx, work); close(stopped) }()
	eventually(t, "all workers hang", func() bool { return len(c.Reconciler.Busy()) == 2 })
	c.controllers.stop(t.Context(), "apps")
	eventually(t, "that of another controller goes on", func() bool {
		return cmp.Equal(works(c.Reconciler.Busy()), []string{"reconciliation of ns/0 for TemplateController other"})
	})
	c.ParentQueue.Add(keyOf("other", "1")) // by the same worker, whose requests are not canceled
	eventually(t, "the worker is at work again", func() bool { return len(c.Reconciler.Busy()) == 2 })
	c.controllers.stop(t.Context(), "other")
	eventually(t, "none is at work", func() bool { return len(c.Reconciler.Busy()) == 0 })
	cancel()
	<-stopped
}

func TestShutdownCancelsReconciliations(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // ignores the queues of other tests
	c := several(t, 1, "apps")
	defer c.controllers.Close()
	c.controllers.get("apps").Cluster = endless{}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	c.ParentQueue.Add(keyOf("apps", "0"))
	go func() { c.Reconciler.Run(ctx, t.Context()); close(stopped) }()
	eventually(t, "the reconciliation begins", func() bool { return len(c.Reconciler.Busy()) == 1 })
	cancel()
	<-stopped
}
