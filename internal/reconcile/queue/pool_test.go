package queue

import (
	"context"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestBlockedWorkerIsRelievedOnce(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	d := NewWorkerTracker(clock, NewProcessors(1, NewTenants()), nil)
	worker := WorkerOf(d.Join(t.Context()))
	after := func(wait time.Duration, want int) {
		t.Helper()
		clock.SetTime(clock.Now().Add(wait))
		if got := len(d.relieve()); got != want {
			t.Errorf("%d are relieved, want %d", got, want)
		}
	}
	after(time.Hour, 0) // no work in progress
	worker.Begin(keyOf("a", "1"))
	after(Patience-1, 0)
	worker.Answered(0)
	after(Patience-1, 0)
	after(1, 1)
	after(time.Hour, 0)
	if !worker.takeBack() {
		t.Error("the worker does not know that it is relieved")
	}
	d.leave(worker)
	next := WorkerOf(d.Join(t.Context()))
	next.Begin(keyOf("a", "2"))
	after(Patience-1, 0) // an hour later, the controller is no longer slow
	after(1, 1)
	slow, other := WorkerOf(d.Join(t.Context())), WorkerOf(d.Join(t.Context()))
	slow.Begin(keyOf("a", "3"))
	other.Begin(keyOf("b", "3"))
	after(minPatience-1, 0)
	after(1, 1)
	if !slow.takeBack() || other.takeBack() {
		t.Error("a controller that was slow a moment ago has as much time as others")
	}
}

func TestCanceledWorkerIsReplaced(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	d := NewWorkerTracker(clock, NewProcessors(1, NewTenants()), nil)
	ctx, cancel := context.WithCancel(t.Context())
	all, abort := context.WithCancel(t.Context())
	defer abort()
	var pieces []context.Context
	pool := &Pool{Tracker: d, Slots: 1, Spare: 2}
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
		own := WorkerOf(work)
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

// staffed returns a pool whose workers wait for work until the test ends. It has no workers yet.
func staffed(t *testing.T) (*Pool, *clocktesting.FakePassiveClock) {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Now())
	d := NewWorkerTracker(clock, NewProcessors(1, NewTenants()), nil)
	end := make(chan struct{})
	p := &Pool{Tracker: d, Next: func(context.Context, func()) bool { <-end; return false }}
	t.Cleanup(func() { close(end); p.group.Wait() })
	return p, clock
}

func TestIdleWorkerIsAddedWhileSlotIsFree(t *testing.T) {
	for why, row := range map[string]struct {
		slots, idle, working, relieved int
		want                           int // idle workers afterwards
	}{
		"the last one has begun":                       {2, 1, 0, 0, 1},
		"another one waits":                            {3, 2, 0, 0, 1},
		"all slots are taken":                          {2, 1, 1, 0, 0},
		"who waits for long has none":                  {2, 1, 1, 1, 1},
		"somebody else bounds how many work at a time": {0, 1, 99, 0, 1},
	} {
		p, _ := staffed(t)
		p.Slots, p.idle, p.working, p.relieved = row.slots, row.idle, row.working, row.relieved
		p.taken(t.Context())
		if p.idle != row.want || p.working != row.working+1 {
			t.Errorf("%s: %d idle and %d working, want %d and %d", why, p.idle, p.working, row.want, row.working+1)
		}
	}
}

func TestSurplusWorkersExit(t *testing.T) {
	due := func(n int) func() int { return func() int { return n } }
	for why, row := range map[string]struct {
		slots, spare, idle, working, relieved int
		replaced                              bool // another worker has the slot
		due                                   func() int
		goes                                  bool
	}{
		"there is room":                               {slots: 3, spare: 2, idle: 1, working: 1},
		"nobody else waits for work":                  {spare: 1, working: 1},
		"enough wait for work":                        {spare: 1, idle: 1, working: 1, goes: true},
		"enough wait for work, and there is none":     {spare: 1, idle: 1, working: 1, due: due(0), goes: true},
		"enough wait for work, but more may begin":    {spare: 1, idle: 1, working: 1, due: due(1)},
		"all slots are taken":                         {slots: 1, spare: 2, idle: 1, working: 1, goes: true},
		"another one has the slot":                    {slots: 1, spare: 2, working: 2, relieved: 1, replaced: true, goes: true},
		"one that waits for long has no slot":         {slots: 1, spare: 2, working: 2, relieved: 1},
		"one that waits for long leaves it to others": {slots: 1, spare: 2, idle: 1, working: 2, relieved: 1, goes: true},
	} {
		p, _ := staffed(t)
		p.Slots, p.Spare, p.Due, p.idle, p.working, p.relieved = row.slots, row.spare, row.due, row.idle, row.working, row.relieved
		idle, relieved := row.idle+1, row.relieved
		if row.goes {
			idle--
		}
		if row.replaced {
			relieved--
		}
		if got := p.done(&Worker{progress: progress{relieved: row.replaced}}); got != row.goes || p.idle != idle || p.working != row.working-1 || p.relieved != relieved {
			t.Errorf("%s: goes %v, want %v; %d idle, %d working and %d relieved, want %d, %d and %d", why, got, row.goes, p.idle, p.working, p.relieved, idle, row.working-1, relieved)
		}
	}
}

func TestBlockedWorkersAreReplaced(t *testing.T) {
	for why, row := range map[string]struct {
		idle int
		due  func() int
		want int // idle workers afterwards
	}{
		"nobody else waits for work":     {0, nil, 1},
		"somebody does":                  {1, nil, 1},
		"somebody does, and none begins": {1, func() int { return 0 }, 1},
		"more may begin":                 {1, func() int { return 1 }, 3},
	} {
		p, clock := staffed(t)
		p.idle, p.working, p.Due = row.idle, 2, row.due
		var hangs []string
		p.Hangs = func(key Key) { hangs = append(hangs, key.Controller) }
		for _, controller := range []string{"a", "b"} {
			WorkerOf(p.Tracker.Join(t.Context())).Begin(keyOf(controller, "1"))
		}
		clock.SetTime(clock.Now().Add(Patience))
		p.relieve(t.Context())
		if len(hangs) != 2 || p.relieved != 2 || p.idle != row.want {
			t.Errorf("%s: %q hang, %d are relieved and %d idle, want two, two and %d", why, hangs, p.relieved, p.idle, row.want)
		}
	}
}

// TestLongComputationReleasesSlot: work computes on the only processor while other work waits for it, in a pool with
// one slot and in a pool without a limit, whose workers keep their slots.
func TestLongComputationReleasesSlot(t *testing.T) {
	for slots, want := range map[int]int{1: 2, 0: 0} {
		p, _ := staffed(t)
		p.Slots, p.working = slots, 2
		_, computes := p.join(t.Context())
		computes.Begin(keyOf("a", "computes"))
		computes.Long()
		computes.Long() // no effect
		_, waits := p.join(t.Context())
		waits.Begin(keyOf("a", "waits"))
		done := make(chan struct{})
		go func() { waits.Long(); waits.End(); close(done) }()
		eventually(t, "it waits", func() bool { return waits.turn.processors.slots.queued() == 1 })
		computes.End()
		<-done
		if p.relieved != want {
			t.Errorf("%d slots: %d have given up theirs, want %d", slots, p.relieved, want)
		}
	}
}

// Two workers finish immediately, but there is only work for one.
func TestSpareWorkersMatchDueWork(t *testing.T) {
	p := &Pool{Spare: 2, Due: func() int { return 1 }, idle: 2, working: 2}
	for i, leaves := range []bool{false, true} {
		if got := p.done(&Worker{}); got != leaves {
			t.Errorf("worker %d leaves: %v, want %v", i, got, leaves)
		}
	}
}
