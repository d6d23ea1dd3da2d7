package queue

import (
	"context"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestWhoWaitsForLongIsRelievedOnce(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	d := NewWorkerTracker(clock, NewProcessors(1, NewTenants()), nil)
	pass := WorkerOf(d.Join(t.Context()))
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
	pass.Answered(0)
	after(Patience-1, 0)
	after(1, 1)
	after(time.Hour, 0)
	if !pass.takeBack() {
		t.Error("the worker does not know that it is relieved")
	}
	d.leave(pass)
	next := WorkerOf(d.Join(t.Context()))
	next.Begin(keyOf("a", "2"))
	after(Patience-1, 0) // an hour later the controller is not slow any more
	after(1, 1)
	slow, other := WorkerOf(d.Join(t.Context())), WorkerOf(d.Join(t.Context()))
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
	d := NewWorkerTracker(clock, NewProcessors(1, NewTenants()), nil)
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

// staffed is a pool whose workers wait for work until the test ends. None of them is there yet.
func staffed(t *testing.T) (*Pool, *clocktesting.FakePassiveClock) {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Now())
	d := NewWorkerTracker(clock, NewProcessors(1, NewTenants()), nil)
	end := make(chan struct{})
	p := &Pool{Tracker: d, Next: func(context.Context, func()) bool { <-end; return false }}
	t.Cleanup(func() { close(end); p.group.Wait() })
	return p, clock
}

func TestOneMoreWorkerWaitsWhereThereIsAPlace(t *testing.T) {
	for why, row := range map[string]struct {
		places, idle, working, relieved int
		want                            int // idle ones afterwards
	}{
		"the last one has begun":                       {2, 1, 0, 0, 1},
		"another one waits":                            {3, 2, 0, 0, 1},
		"all places are taken":                         {2, 1, 1, 0, 0},
		"who waits for long has none":                  {2, 1, 1, 1, 1},
		"somebody else bounds how many work at a time": {0, 1, 99, 0, 1},
	} {
		p, _ := staffed(t)
		p.Places, p.idle, p.working, p.relieved = row.places, row.idle, row.working, row.relieved
		p.taken(t.Context())
		if p.idle != row.want || p.working != row.working+1 {
			t.Errorf("%s: %d idle and %d working, want %d and %d", why, p.idle, p.working, row.want, row.working+1)
		}
	}
}

func TestWhoIsDoneGoesWhereThereIsOneTooMany(t *testing.T) {
	due := func(n int) func() int { return func() int { return n } }
	for why, row := range map[string]struct {
		places, spare, idle, working, relieved int
		replaced                               bool // whether another one has the place
		due                                    func() int
		goes                                   bool
	}{
		"there is room":                               {places: 3, spare: 2, idle: 1, working: 1},
		"nobody else waits for work":                  {spare: 1, working: 1},
		"enough wait for work":                        {spare: 1, idle: 1, working: 1, goes: true},
		"enough wait for work, and there is none":     {spare: 1, idle: 1, working: 1, due: due(0), goes: true},
		"enough wait for work, but more may begin":    {spare: 1, idle: 1, working: 1, due: due(1)},
		"all places are taken":                        {places: 1, spare: 2, idle: 1, working: 1, goes: true},
		"another one has the place":                   {places: 1, spare: 2, working: 2, relieved: 1, replaced: true, goes: true},
		"one that waits for long has no place":        {places: 1, spare: 2, working: 2, relieved: 1},
		"one that waits for long leaves it to others": {places: 1, spare: 2, idle: 1, working: 2, relieved: 1, goes: true},
	} {
		p, _ := staffed(t)
		p.Places, p.Spare, p.Due, p.idle, p.working, p.relieved = row.places, row.spare, row.due, row.idle, row.working, row.relieved
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

func TestOthersWorkInPlaceOfThoseWhoWaitForLong(t *testing.T) {
	for why, row := range map[string]struct {
		idle int
		due  func() int
		want int // idle ones afterwards
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

// TestWhoComputesForLongGivesUpThePlace has work compute on the only processor, and other work wait for it, in a pool of one place and in one
// without a bound of its own, whose workers keep theirs.
func TestWhoComputesForLongGivesUpThePlace(t *testing.T) {
	for places, want := range map[int]int{1: 2, 0: 0} {
		p, _ := staffed(t)
		p.Places, p.working = places, 2
		_, computes := p.join(t.Context())
		computes.Begin(keyOf("a", "computes"))
		computes.Long()
		computes.Long() // still
		_, waits := p.join(t.Context())
		waits.Begin(keyOf("a", "waits"))
		done := make(chan struct{})
		go func() { waits.Long(); waits.End(); close(done) }()
		eventually(t, "it waits", func() bool { return waits.turn.processors.places.queued() == 1 })
		computes.End()
		<-done
		if p.relieved != want {
			t.Errorf("%d places: %d have given up theirs, want %d", places, p.relieved, want)
		}
	}
}

// Workers that are finished at once are too many for one piece of work.
func TestAsManySpareWorkersStayAsThereIsWork(t *testing.T) {
	p := &Pool{Spare: 2, Due: func() int { return 1 }, idle: 2, working: 2}
	for i, leaves := range []bool{false, true} {
		if got := p.done(&Worker{}); got != leaves {
			t.Errorf("worker %d leaves: %v, want %v", i, got, leaves)
		}
	}
}
