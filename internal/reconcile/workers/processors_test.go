package workers

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// computers compute on one processor. They live in a bubble of synctest, whose time goes on when all of them sleep.
type computers struct {
	*Processors
	mu    sync.Mutex
	spent map[string]time.Duration // by controller
	group sync.WaitGroup
}

func newComputers(tenants map[string]string) *computers {
	all := queue.NewTenants()
	for controller, namespace := range tenants {
		var account *v1.ServiceAccountRef
		if namespace != "" {
			account = &v1.ServiceAccountRef{Namespace: namespace, Name: controller}
		}
		all.Set(controller, account)
	}
	c := &computers{Processors: NewProcessors(clock.RealClock{}, all), spent: map[string]time.Duration{}}
	c.free, c.least = 1, 0
	return c
}

// elapse lets time go on in the bubble.
func elapse(d time.Duration) { <-time.After(d) }

// compute has a controller compute for so long, with a pause each millisecond, and tell when it is done.
func (c *computers) compute(controller string, long time.Duration) (took <-chan time.Duration) {
	done := make(chan time.Duration, 1)
	start := time.Now()
	c.group.Go(func() {
		t := c.turn()
		t.begin(controller)
		for range long / time.Millisecond {
			elapse(time.Millisecond)
			c.mu.Lock()
			c.spent[controller] += time.Millisecond
			c.mu.Unlock()
			t.pause()
		}
		t.end()
		done <- time.Since(start)
	})
	return done
}

// state returns how many processors are free and who computes, once all of the bubble wait.
func (c *computers) state() (free int, computing []string) {
	synctest.Wait()
	c.Processors.mu.Lock()
	defer c.Processors.mu.Unlock()
	for _, t := range c.computing {
		computing = append(computing, t.usage.name)
	}
	return c.free, computing
}

func (c *computers) expectIdle(t *testing.T, free int) {
	t.Helper()
	c.group.Wait()
	if c.free != free || len(c.waiting)+len(c.computing) > 0 {
		t.Errorf("%d processors are free and %d wait, want %d and none", c.free, len(c.waiting), free)
	}
	for _, u := range c.controllers {
		if u.turns != 0 || u.of.turns != 0 {
			t.Errorf("%s has %d turns and its tenant %d, want none", u.name, u.turns, u.of.turns)
		}
	}
}

func TestWhoComputesLittleWaitsForAPauseOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"greedy": "", "modest": ""})
		for range 32 {
			c.compute("greedy", 250*time.Millisecond)
		}
		for range 30 {
			elapse(100 * time.Millisecond)
			if took := <-c.compute("modest", 2*time.Millisecond); took > 3*time.Millisecond {
				t.Errorf("2 ms took %v, want at most 1 ms more", took)
			}
		}
		c.expectIdle(t, 1)
	})
}

func TestWhoComputesLittleBorrowsTheLastProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"greedy": "", "modest": "", "third": ""})
		c.least = -1
		first := c.compute("greedy", time.Second)
		second := c.compute("greedy", time.Second)
		elapse(100*time.Millisecond + time.Millisecond/2)
		if free, _ := c.state(); free != 0 {
			t.Errorf("%d are free, want none: greedy ones do not borrow", free)
		}
		modest := c.compute("modest", 15*time.Millisecond)
		if free, _ := c.state(); free != -1 {
			t.Errorf("%d are free, want -1: one is borrowed", free)
		}
		elapse(time.Millisecond)
		if free, computing := c.state(); free != 0 || !slices.Equal(computing, []string{"modest"}) {
			t.Errorf("%d are free, want none: the greedy one makes way in its pause; %v compute", free, computing)
		}
		if took := <-modest; took != 15*time.Millisecond {
			t.Errorf("15 ms took %v", took)
		}
		if sum := max(<-first, <-second); sum > 2*time.Second+15*time.Millisecond {
			t.Errorf("the greedy ones took %v", sum)
		}
		c.expectIdle(t, 1)
	})
}

func TestManyControllersOfOneTenantAreOneToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tenants := map[string]string{"modest": "modest"}
		for i := range 300 {
			tenants[fmt.Sprint("greedy-", i)] = "greedy"
		}
		c := newComputers(tenants)
		for i := range 300 {
			c.compute(fmt.Sprint("greedy-", i), 10*time.Millisecond)
		}
		for range 20 {
			elapse(100 * time.Millisecond)
			if took := <-c.compute("modest", 2*time.Millisecond); took > 3*time.Millisecond {
				t.Errorf("2 ms took %v, want at most 1 ms more", took)
			}
		}
		c.expectIdle(t, 1)
	})
}

func TestComputingTimeIsSharedByTenantsAndThenByControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"a": "one", "b": "one", "c": ""})
		for range 5 {
			c.compute("a", time.Second)
		}
		elapse(500 * time.Millisecond) // nobody pays for the time that was free
		c.compute("b", 2*time.Second)
		c.compute("c", 2*time.Second)
		c.mu.Lock()
		clear(c.spent)
		c.mu.Unlock()
		elapse(2 * time.Second)
		c.mu.Lock()
		for controller, want := range map[string]time.Duration{"a": 500 * time.Millisecond, "b": 500 * time.Millisecond, "c": time.Second} {
			if got := c.spent[controller]; (got - want).Abs() > 2*advance {
				t.Errorf("%s has computed for %v, want %v", controller, got, want)
			}
		}
		c.mu.Unlock()
		c.expectIdle(t, 1)
	})
}

func TestNobodySavesUpComputingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"steady": "", "late": ""})
		<-c.compute("steady", 10*time.Second)
		c.compute("steady", time.Second)
		c.compute("late", time.Second)
		elapse(time.Second)
		c.mu.Lock()
		if got := c.spent["late"]; got > 500*time.Millisecond+advance {
			t.Errorf("who comes late has computed for %v of the first second", got)
		}
		c.mu.Unlock()
		c.expectIdle(t, 1)
	})
}

func TestTimeWithoutAPauseCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"a": "one"})
		turn := c.turn()
		turn.begin("a")
		elapse(time.Second)
		turn.end()
		own := c.controllers["a"]
		for _, u := range []*usage{own, own.of, own.of.of} {
			if u.used != time.Second {
				t.Errorf("%q has used %v, want 1 s", u.name, u.used)
			}
		}
	})
}

func TestWhoComesLaterIsLevelWithWhoBeganLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"early": "one", "late": "one"})
		turn := c.turn()
		for range 2 { // without a pause
			turn.begin("early")
			elapse(time.Second)
			turn.end()
		}
		turn.begin("late")
		turn.end()
		if got, want := c.controllers["late"].used, time.Second-advance; got != want {
			t.Errorf("who comes later begins with %v, want %v", got, want)
		}
	})
}

func TestAProcessorThatIsKeptForLongGoesToTheNextToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"keeps": "", "next": ""})
		keeps := c.turn()
		keeps.begin("keeps")
		keeps.reclaim()
		elapse(longTurn)
		keeps.reclaim() // nobody waits
		if !keeps.computes {
			t.Error("it is taken away though nobody else wants it")
		}
		keeps.pause()
		took := c.compute("next", 10*time.Millisecond)
		elapse(longTurn - 1)
		keeps.reclaim()
		synctest.Wait()
		if !keeps.computes {
			t.Error("it is taken away too early")
		}
		elapse(1)
		keeps.reclaim()
		if got := <-took; got != longTurn+10*time.Millisecond {
			t.Errorf("the next one was done after %v", got)
		}
		if keeps.computes {
			t.Error("it is not taken away")
		}
		keeps.pause() // it has its turn again
		if !keeps.computes {
			t.Error("it does not come back")
		}
		keeps.end()
		c.expectIdle(t, 1)
	})
}

func TestProcessorsAreTakenBackFromAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"first": "", "second": "", "next": ""})
		c.free = 2
		d := NewTracker(clock.RealClock{}, c.Processors, nil)
		var all []*Worker
		for _, name := range []string{"first", "second"} {
			own := Of(d.Join(t.Context()))
			own.Begin(keyOf(name, "1"))
			all = append(all, own)
		}
		for range 2 {
			c.compute("next", time.Millisecond)
		}
		elapse(longTurn)
		d.reclaim()
		for _, own := range all {
			if own.turn.computes {
				t.Error("a processor is kept though others wait")
			}
			own.End()
			d.leave(own)
		}
		c.expectIdle(t, 2)
	})
}

func TestRequestsTakeNoProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"asks": "", "waits": "", "computes": ""})
		d := NewTracker(clock.RealClock{}, c.Processors, nil)
		asks, waits := Of(d.Join(t.Context())), Of(d.Join(t.Context()))
		asks.Begin(keyOf("asks", "1"))
		asks.Asked()
		waits.Begin(keyOf("waits", "1"))
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
		if got := d.relieve(); !slices.Equal(got, []queue.Key{keyOf("asks", "1")}) || len(d.Busy()) != 1 {
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
		c.expectIdle(t, 1)
	})
}

func TestNothingIsRememberedOfUnknownControllers(t *testing.T) {
	c := newComputers(map[string]string{"a": "one", "b": "one"})
	for _, name := range []string{"a", "b", "gone"} {
		turn := c.turn()
		turn.begin(name)
		turn.end()
		turn.end()
	}
	if len(c.controllers) != 2 || len(c.byTenant) != 1 {
		t.Errorf("%d controllers of %d tenants are remembered, want 2 of 1", len(c.controllers), len(c.byTenant))
	}
	c.tenants.Set("b", &v1.ServiceAccountRef{Namespace: "two"})
	turn := c.turn()
	turn.begin("b")
	turn.end()
	if len(c.controllers) != 2 || len(c.byTenant) != 2 {
		t.Errorf("%d controllers of %d tenants are remembered, want 2 of 2", len(c.controllers), len(c.byTenant))
	}
	for _, name := range []string{"a", "b", "gone"} {
		c.Processors.ForgetController(name)
		c.tenants.ForgetController(name)
		if _, known := c.tenants.Of(name); known {
			t.Errorf("the tenant of %s is left over", name)
		}
	}
	if len(c.controllers)+len(c.byTenant) > 0 {
		t.Error("something is left over")
	}
}

func TestWhoComputesTakesNoOtherProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"a": ""})
		own := c.turn()
		own.begin("a")
		own.take()
		if free, computing := c.state(); free != 0 || len(computing) != 1 {
			t.Errorf("%d are free and %q compute, want none and one", free, computing)
		}
		own.end()
		c.expectIdle(t, 1)
	})
}

func TestWhoIsLevelWithOneWhoBorrowsGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"a": "", "b": ""})
		c.free = 2
		one, other := c.turn(), c.turn()
		one.begin("a")
		other.begin("b")
		c.free, c.least = -1, -1 // as if the last one had borrowed it
		one.pause()
		if free, computing := c.state(); free != -1 || len(computing) != 2 {
			t.Errorf("%d are free and %q compute, want -1 and both", free, computing)
		}
		one.end()
		other.end()
		c.expectIdle(t, 1)
	})
}

func TestWhoHasComputedLongGivesWayToOneWhoBorrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputers(map[string]string{"greedy": "", "modest": ""})
		c.least = -1
		c.compute("greedy", 300*time.Millisecond)
		elapse(100*time.Millisecond + time.Millisecond/2)
		c.compute("modest", 5*time.Millisecond)
		if free, _ := c.state(); free != -1 {
			t.Errorf("%d are free, want -1: one is borrowed", free)
		}
		elapse(time.Millisecond)
		if free, computing := c.state(); free != 0 || !slices.Equal(computing, []string{"modest"}) {
			t.Errorf("after a pause, %d are free and %q compute, want none and the one who borrowed", free, computing)
		}
		c.expectIdle(t, 1)
	})
}
