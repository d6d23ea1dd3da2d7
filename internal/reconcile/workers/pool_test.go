package workers

import (
	"context"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func TestWhoWaitsForLongIsRelievedOnce(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	d := NewTracker(clock, NewProcessors(clock, queue.NewTenants()))
	d.processors.free = 10
	pass := Of(d.Join(t.Context()))
	after := func(wait time.Duration, want int) {
		t.Helper()
		clock.SetTime(clock.Now().Add(wait))
		if got := len(d.relieve()); got != want {
			t.Errorf("%d are relieved, want %d", got, want)
		}
	}
	after(time.Hour, 0) // nothing is under way
	pass.Begin(keyOf("a", "1"))
	after(Patience-1, 0)
	pass.Answered()
	after(Patience-1, 0)
	after(1, 1)
	after(time.Hour, 0)
	if !pass.takeBack() {
		t.Error("the worker does not know that it is relieved")
	}
	d.leave(pass)
	next := Of(d.Join(t.Context()))
	next.Begin(keyOf("a", "2"))
	after(Patience-1, 0) // an hour later the controller is not slow any more
	after(1, 1)
	slow, other := Of(d.Join(t.Context())), Of(d.Join(t.Context()))
	slow.Begin(keyOf("a", "3"))
	other.Begin(keyOf("b", "3"))
	after(leastPatience-1, 0)
	after(1, 1)
	if !slow.takeBack() || other.takeBack() {
		t.Error("a controller that was slow a moment ago has as much time as others")
	}
}

func TestWhoWasCutShortGoesOnAsAnotherWorker(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	d := NewTracker(clock, NewProcessors(clock, queue.NewTenants()))
	ctx, cancel := context.WithCancel(t.Context())
	all, abort := context.WithCancel(t.Context())
	defer abort()
	var pieces []context.Context
	pool := &Pool{Tracker: d, Places: 1, Spare: 2}
	ended := false
	pool.Next = func(work context.Context, taken func()) bool {
		if len(pieces) == 4 {
			if ended || work != pieces[3] {
				t.Error("somebody goes on though all work is to end")
			}
			ended = true
			return false
		}
		taken()
		if pieces = append(pieces, work); work.Err() != nil || len(d.all) != 1 {
			t.Errorf("piece %d begins with %v by one of %d workers", len(pieces), work.Err(), len(d.all))
		}
		own := Of(work)
		own.Begin(keyOf("a", "1"))
		defer own.End()
		switch len(pieces) {
		case 2:
			d.Cut("b")
			d.Cut("a")
		case 4:
			cancel()
			abort()
		}
		return true
	}
	pool.Run(ctx, all)
	if pieces[0] != pieces[1] || pieces[1] == pieces[2] || pieces[2] != pieces[3] {
		t.Error("only after work that was cut short, there is another worker")
	}
	if len(d.all) != 0 {
		t.Errorf("%d workers are left", len(d.all))
	}
}
