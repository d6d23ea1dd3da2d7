package queue

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
)

// computers compute on one processor. They live in a bubble of synctest, whose time goes on when all of them sleep.
type computers struct {
	*Processors
	group sync.WaitGroup
}

// newComputers returns those of these controllers, with the namespaces of their accounts; "" is for none.
func newComputers(tenants map[string]string) *computers {
	all := NewTenants()
	for controller, namespace := range tenants {
		var account *v1.ServiceAccountRef
		if namespace != "" {
			account = &v1.ServiceAccountRef{Namespace: namespace, Name: controller}
		}
		all.Set(controller, account)
	}
	return &computers{Processors: NewProcessors(1, all)}
}

func (c *computers) turn() *turn { return &turn{processors: c.Processors} }

// elapse lets time go on in the bubble.
func elapse(d time.Duration) { <-time.After(d) }

// compute has a controller compute for so long, with a pause each millisecond, and report how long that took.
func (c *computers) compute(controller string, long time.Duration) (took <-chan time.Duration) {
	done := make(chan time.Duration, 1)
	start := time.Now()
	c.group.Go(func() {
		t := c.turn()
		t.begin(controller)
		t.take()
		for range long / time.Millisecond {
			elapse(time.Millisecond)
			t.pause()
		}
		t.end()
		done <- time.Since(start)
	})
	return done
}

func (c *computers) expectIdle(t *testing.T) {
	t.Helper()
	c.group.Wait()
	c.places.expectIdle(t)
}

// TestTenantsTakeTurnsInPauses has two tenants, one with many controllers, compute without end. Another one waits for a turn of each of them, before
// its own and again in its pause.
func TestTenantsTakeTurnsInPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tenants := map[string]string{"modest": "modest", "greedy": "too"}
		for i := range 300 {
			tenants[fmt.Sprint("greedy-", i)] = "greedy"
		}
		c := newComputers(tenants)
		for i := range 300 {
			c.compute(fmt.Sprint("greedy-", i), 20*time.Millisecond)
			c.compute("greedy", 20*time.Millisecond)
		}
		for range 20 {
			elapse(100 * time.Millisecond)
			if took := <-c.compute("modest", time.Millisecond); took > 7*time.Millisecond {
				t.Errorf("1 ms took %v, want at most 6 ms more", took)
			}
		}
		c.expectIdle(t)
	})
}

func TestNobodyPausesForTheirOwnTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"a": "one", "b": "one"})
		both := []<-chan time.Duration{c.compute("a", 100*time.Millisecond), c.compute("b", 100*time.Millisecond)}
		if took := min(<-both[0], <-both[1]); took != 100*time.Millisecond {
			t.Errorf("the first of them took %v, want 100 ms", took)
		}
		c.expectIdle(t)
	})
}

func TestRequestsTakeNoProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"asks": "one", "waits": "one", "computes": "one"})
		d := NewWorkerTracker(clock.RealClock{}, c.Processors, nil)
		asks, waits := WorkerOf(d.Join(t.Context())), WorkerOf(d.Join(t.Context()))
		asks.Begin(keyOf("asks", "1"))
		asks.Long()
		asks.Asked()
		waits.Begin(keyOf("waits", "1"))
		waits.Long()
		goOn := waits.Wait()
		if took := <-c.compute("computes", 10*time.Millisecond); took != 10*time.Millisecond {
			t.Errorf("10 ms took %v", took)
		}
		asks.Answered(0)
		if err := asks.pause(); err != nil {
			t.Error(err)
		}
		answered := make(chan struct{})
		go func() { goOn(); close(answered) }()
		elapse(Patience)
		if got := d.relieve(); !slices.Equal(got, []Key{keyOf("asks", "1")}) || len(d.Busy()) != 1 {
			t.Errorf("%v are relieved and %v busy, want only the one that computes: the other one waits for a processor", got, d.Busy())
		}
		asks.End()
		<-answered
		d.leave(waits)
		if err := waits.pause(); err == nil {
			t.Error("who is cut short does not hear of it")
		}
		waits.End()
		d.leave(asks)
		c.expectIdle(t)
	})
}

func TestShortWorkNeedsNoProcessor(t *testing.T) {
	c := newComputers(nil)
	own := WorkerOf(NewWorkerTracker(clock.RealClock{}, c.Processors, nil).Join(t.Context()))
	for _, step := range []struct {
		why  string
		do   func()
		want int
	}{
		{"it begins", func() { own.Begin(keyOf("a", "1")) }, 0},
		{"it makes a request", func() { own.Asked(); own.Answered(0) }, 0},
		{"it computes for long", own.Long, 1},
		{"it does so still", own.Long, 1},
		{"it waits for an answer", own.Asked, 0},
		{"it is answered", func() { own.Answered(0) }, 1},
		{"it ends", own.End, 0},
		{"the next one begins", func() { own.Begin(keyOf("a", "2")); own.Asked(); own.Answered(0) }, 0},
	} {
		if step.do(); c.places.all != step.want {
			t.Errorf("%s: it has %d processors, want %d", step.why, c.places.all, step.want)
		}
	}
	WorkerOf(t.Context()).Long() // nobody works
	c.expectIdle(t)
}

// TestAPauseLetsShortWorkGoFirst has only one processor. Go itself would let the short work go first after 10 ms.
func TestAPauseLetsShortWorkGoFirst(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	own := WorkerOf(NewWorkerTracker(clock.RealClock{}, newComputers(nil).Processors, nil).Join(t.Context()))
	own.Begin(keyOf("a", "1"))
	own.Long()
	defer own.End()
	var done atomic.Bool
	go done.Store(true)
	if err := own.pause(); err != nil || !done.Load() {
		t.Errorf("after the pause, the error is %v, and the short work is done %v", err, done.Load())
	}
}
