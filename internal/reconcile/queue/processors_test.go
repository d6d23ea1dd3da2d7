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

// computers compute on one processor. They run in a synctest bubble, whose time advances when all of them sleep.
type computers struct {
	*Processors
	group sync.WaitGroup
}

// newComputers returns computers for these controllers, by the namespace of their service account ("" means none).
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

// elapse advances the time of the bubble.
func elapse(d time.Duration) { <-time.After(d) }

// compute computes for a controller for the given time, with a pause every millisecond, and returns how long that took.
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
	c.slots.expectIdle(t)
}

// TestPausesServeTenantsRoundRobin: two tenants, one with many controllers, compute endlessly. Another tenant waits for
// one turn of each of them, both before its own turn and in its pause.
func TestPausesServeTenantsRoundRobin(t *testing.T) {
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

// TestTenantsGetEqualProcessorTime: one tenant repeatedly computes for long without a pause, as large admission reviews
// do. The others get as much time, and it is not compensated for time in which it had no work.
func TestTenantsGetEqualProcessorTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"coarse": "coarse", "fine": "fine", "modest": "modest"})
		stop := make(chan struct{})
		for range 2 {
			c.group.Go(func() {
				for {
					turn := c.turn()
					turn.begin("coarse")
					turn.take()
					elapse(300 * time.Millisecond)
					turn.end()
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		elapse(10 * time.Second) // no other tenants compute
		if took := <-c.compute("fine", 3*time.Second); took > 7*time.Second {
			t.Errorf("3 s beside one other tenant took %v, want at most 7 s", took)
		}
		fine := c.compute("fine", 3*time.Second)
		elapse(time.Second)
		if took := <-c.compute("modest", time.Millisecond); took > 302*time.Millisecond {
			t.Errorf("1 ms took %v, want at most 301 ms more", took)
		}
		<-fine
		close(stop)
		c.expectIdle(t)
	})
}

func TestWorkDoesNotPauseForSameTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"a": "one", "b": "one"})
		both := []<-chan time.Duration{c.compute("a", 100*time.Millisecond), c.compute("b", 100*time.Millisecond)}
		if took := min(<-both[0], <-both[1]); took != 100*time.Millisecond {
			t.Errorf("the first of them took %v, want 100 ms", took)
		}
		c.expectIdle(t)
	})
}

func TestPendingRequestsReleaseProcessor(t *testing.T) {
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

func TestShortWorkDoesNotUseProcessor(t *testing.T) {
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
		if step.do(); c.slots.all != step.want {
			t.Errorf("%s: it has %d processors, want %d", step.why, c.slots.all, step.want)
		}
	}
	WorkerOf(t.Context()).Long() // no worker in the context
	c.expectIdle(t)
}

// TestPauseYieldsToShortWork uses a single processor. Go itself would only preempt after 10 ms. Two pauses are needed
// now and then: once in 61 turns, Go's scheduler prefers the goroutine that yielded.
func TestPauseYieldsToShortWork(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	own := WorkerOf(NewWorkerTracker(clock.RealClock{}, newComputers(nil).Processors, nil).Join(t.Context()))
	own.Begin(keyOf("a", "1"))
	own.Long()
	defer own.End()
	var done atomic.Bool
	go done.Store(true)
	for range 2 {
		if err := own.pause(); err != nil {
			t.Fatal(err)
		}
	}
	if !done.Load() {
		t.Error("the short work is not done after two pauses")
	}
}
