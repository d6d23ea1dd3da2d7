package reconcile

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/object"
)

// telling is a Writer that tells of each child that is applied, and writes nothing.
type telling struct {
	Writer
	applied chan string
}

func (w telling) Apply(ctx context.Context, at kube.Location, _ []byte, _ string) (*object.Object, error) {
	defer asks(ctx)()
	w.applied <- at.Name
	return nil, context.Canceled
}

func (w telling) ApplyStatus(context.Context, kube.Location, []byte, string) (*object.Object, error) {
	return nil, context.Canceled
}

// tells reports whether that many children were applied.
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

// mute announces nothing.
type mute struct{}

func (mute) Announce(kube.Announcement) {}

// endless is a Writer whose writes last until their context ends.
type endless struct{ telling }

func (w endless) Apply(ctx context.Context, _ kube.Location, _ []byte, _ string) (*object.Object, error) {
	defer asks(ctx)()
	<-ctx.Done()
	return nil, ctx.Err()
}

// several has the cluster hold that many parents, "0", "1"…, none of which has its child, for each of these controllers.
func several(t *testing.T, parents int, controllers ...string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.controllers.Close()
	c.startWith(Options{Workers: 2})
	c.reconciler.events = mute{} // many speak at a time
	for _, name := range controllers {
		c.apply(with(t, apps, "name: apps", "name: "+name, "{name: {{ . }}}", "{name: "+name+"-{{ $.metadata.name }}}"))
	}
	for i := range parents {
		c.apply(with(t, app, "name: one", fmt.Sprintf("name: %q", fmt.Sprint(i)), "[a, b]", "[a]"))
	}
	c.run()
	c.deliver()
	c.run()
	for i := range parents {
		for _, name := range controllers {
			c.gone(configMap(fmt.Sprintf("%s-%d", name, i)))
		}
	}
	c.deliver()
	take(c.reconciler.queue)
	return c
}

func TestAControllerWhoseRequestsHangKeepsNoOtherFromItsPasses(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // the queues of other tests
	c := several(t, 4, "hangs", "too", "works")
	defer c.controllers.Close()
	slow, quick := telling{applied: make(chan string, 100)}, telling{applied: make(chan string, 100)}
	h := hanging{slow, make(chan struct{})}
	c.controllers.get("hangs").cluster, c.controllers.get("too").cluster, c.controllers.get("works").cluster = h, h, quick
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	for _, controller := range []string{"hangs", "too"} {
		for i := range 4 {
			c.reconciler.queue.Add(keyOf(controller, fmt.Sprint(i)))
		}
	}
	go func() { c.reconciler.Run(ctx, t.Context()); close(stopped) }()
	eventually(t, "all workers hang", func() bool { return len(c.reconciler.Busy()) == 2 })
	for i := range 4 {
		c.reconciler.queue.Add(keyOf("works", fmt.Sprint(i)))
	}
	quick.tells(t, 4, func() {}) // at once
	passes := func(name string) (n int) {
		for _, work := range c.reconciler.Busy() {
			if work.Key.Controller == name {
				n++
			}
		}
		return n
	}
	for _, name := range []string{"hangs", "too"} {
		if n := passes(name); n != 1 {
			t.Errorf("%d passes for %s are under way, want 1: there are two workers", n, name)
		}
	}
	eventually(t, "each has as many passes as there are workers, since they hang", func() bool {
		c.clock.SetTime(c.clock.Now().Add(patience))
		return passes("hangs") == 2 && passes("too") == 2
	})
	close(h.release)
	slow.tells(t, 8, func() {})
	eventually(t, "there are as many workers as before", func() bool {
		c.reconciler.desks.mu.Lock()
		defer c.reconciler.desks.mu.Unlock()
		return len(c.reconciler.desks.all) == 2
	})
	cancel()
	<-stopped
}

func TestWhoWaitsForLongIsRelievedOnce(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	d := newDesks(clock, newProcessors(clock, newTenants()))
	d.processors.free = 10
	pass := deskOf(d.seat(t.Context()))
	after := func(wait time.Duration, want int) {
		t.Helper()
		clock.SetTime(clock.Now().Add(wait))
		if got := len(d.relieve()); got != want {
			t.Errorf("%d are relieved, want %d", got, want)
		}
	}
	after(time.Hour, 0) // nothing is under way
	pass.begin(keyOf("a", "1"))
	after(patience-1, 0)
	pass.Answered()
	after(patience-1, 0)
	after(1, 1)
	after(time.Hour, 0)
	if !pass.takeBack() {
		t.Error("the worker does not know that it is relieved")
	}
	d.leave(pass)
	next := deskOf(d.seat(t.Context()))
	next.begin(keyOf("a", "2"))
	after(patience-1, 0) // an hour later the controller is not slow any more
	after(1, 1)
	slow, other := deskOf(d.seat(t.Context())), deskOf(d.seat(t.Context()))
	slow.begin(keyOf("a", "3"))
	other.begin(keyOf("b", "3"))
	after(leastPatience-1, 0)
	after(1, 1)
	if !slow.takeBack() || other.takeBack() {
		t.Error("a controller that was slow a moment ago has as much time as others")
	}
}

func TestPassesThatDoNotEndAreCutShort(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // the queues of other tests
	c := several(t, 2, "apps", "other")
	defer c.controllers.Close()
	c.controllers.grace = 0
	c.controllers.get("apps").cluster, c.controllers.get("other").cluster = endless{}, endless{}
	ctx, cancel := context.WithCancel(t.Context())
	work, abort := context.WithCancel(t.Context())
	defer abort()
	stopped := make(chan struct{})
	c.reconciler.queue.Add(keyOf("apps", "0"))
	c.reconciler.queue.Add(keyOf("other", "0"))
	go func() { c.reconciler.Run(ctx, work); close(stopped) }()
	eventually(t, "all workers hang", func() bool { return len(c.reconciler.Busy()) == 2 })
	c.controllers.stop(t.Context(), "apps")
	eventually(t, "that of another controller goes on", func() bool {
		return cmp.Equal(works(c.reconciler.Busy()), []string{"pass over ns/0 for TemplateController other"})
	})
	c.reconciler.queue.Add(keyOf("other", "1")) // by the same worker, whose requests are not cut short
	eventually(t, "the worker is at work again", func() bool { return len(c.reconciler.Busy()) == 2 })
	c.controllers.stop(t.Context(), "other")
	eventually(t, "none is at work", func() bool { return len(c.reconciler.Busy()) == 0 })
	cancel()
	<-stopped
}

func TestWhoWasCutShortGoesOnAtAnotherDesk(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	d := newDesks(clock, newProcessors(clock, newTenants()))
	ctx, cancel := context.WithCancel(t.Context())
	all, abort := context.WithCancel(t.Context())
	defer abort()
	var pieces []context.Context
	crew := &crew{desks: d, places: 1, spare: 2}
	ended := false
	crew.next = func(work context.Context, taken func()) bool {
		if len(pieces) == 4 {
			if ended || work != pieces[3] {
				t.Error("somebody goes on though all work is to end")
			}
			ended = true
			return false
		}
		taken()
		if pieces = append(pieces, work); work.Err() != nil || len(d.all) != 1 {
			t.Errorf("piece %d begins with %v at one of %d desks", len(pieces), work.Err(), len(d.all))
		}
		own := deskOf(work)
		own.begin(keyOf("a", "1"))
		defer own.end()
		switch len(pieces) {
		case 2:
			d.cut("b")
			d.cut("a")
		case 4:
			cancel()
			abort()
		}
		return true
	}
	crew.run(ctx, all)
	if pieces[0] != pieces[1] || pieces[1] == pieces[2] || pieces[2] != pieces[3] {
		t.Error("only after work that was cut short, there is another desk")
	}
	if len(d.all) != 0 {
		t.Errorf("%d desks are left", len(d.all))
	}
}

func TestWorkIsCutShortWhenTheOperatorStops(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // the queues of other tests
	c := several(t, 1, "apps")
	defer c.controllers.Close()
	c.controllers.grace = 0
	c.controllers.get("apps").cluster = endless{}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	c.reconciler.queue.Add(keyOf("apps", "0"))
	go func() { c.reconciler.Run(ctx, t.Context()); close(stopped) }()
	eventually(t, "the pass begins", func() bool { return len(c.reconciler.Busy()) == 1 })
	cancel()
	<-stopped
}
