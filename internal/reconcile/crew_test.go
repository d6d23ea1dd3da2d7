package reconcile

import (
	"context"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func TestWhoWaitsForLongIsRelievedOnce(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	d := newDesks(clock, newProcessors(clock, queue.NewTenants()))
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

func TestWhoWasCutShortGoesOnAtAnotherDesk(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	d := newDesks(clock, newProcessors(clock, queue.NewTenants()))
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
