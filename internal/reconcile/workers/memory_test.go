package workers

import (
	"context"
	"errors"
	"math"
	"math/rand"
	"sync"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/render/budget"
)

// hold returns a hold of a pass that ends with the test.
func (p *Memory) hold(t *testing.T, controller string) *Reservation {
	t.Helper()
	var h Reservation
	h.Open(t.Context(), p, controller)
	return &h
}

// poolOf returns a pool of that many MiB, besides the room for the favoured.
func poolOf(mebibytes int) *Memory {
	return NewMemory(memoryShare*int64(mebibytes<<20+budget.MaxBytes), queue.NewTenants())
}

// grow has h grow by so many MiB, and returns what comes of it.
func grow(h *Reservation, mebibytes int) <-chan error {
	done := make(chan error, 1)
	go func() { done <- h.Grow(mebibytes << 20) }()
	return done
}

// waits fails unless so many passes wait.
func (p *Memory) waits(t *testing.T, want int) {
	t.Helper()
	eventually(t, "passes wait", func() bool {
		_, waiting := p.State()
		return waiting == want
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSharesOfTheMemoryLimit(t *testing.T) {
	for limit, want := range map[int64]int{
		480 << 20:     160<<20 - budget.MaxBytes,
		100 << 20:     0,
		0:             0,
		math.MaxInt64: assumedLimit/memoryShare - budget.MaxBytes,
	} {
		if got := NewMemory(limit, queue.NewTenants()).size; got != want {
			t.Errorf("of %d: %d, want %d", limit, got, want)
		}
	}
}

// TestPassesWaitForMemory has passes of one controller take what it may have. One waits and is favoured, the next one waits until
// there is room.
func TestPassesWaitForMemory(t *testing.T) {
	p := poolOf(20)
	first, favoured, third := p.hold(t, "a"), p.hold(t, "a"), p.hold(t, "a")
	must(t, first.Grow(10<<20)) // half of all, which is what one controller may have
	must(t, favoured.Grow(20<<20))
	must(t, favoured.Grow(40<<20)) // it has the room that is left for it, and does not wait
	waiting := grow(third, 5)
	p.waits(t, 1)
	first.Settle(2 << 20) // now there is room
	must(t, <-waiting)
	first.Close()
	favoured.Close()
	third.Close()
	if p.used != 0 || len(p.by) != 0 || p.favoured != nil || len(p.order) != 0 || len(p.waiting) != 0 {
		t.Errorf("something is left: %+v", p)
	}
}

// TestAnotherIsFavouredOnceOneHasMadeItsObjects has the favoured keep little, while one waits that wants more than there is.
func TestAnotherIsFavouredOnceOneHasMadeItsObjects(t *testing.T) {
	p := poolOf(2)
	first := p.hold(t, "a")
	must(t, first.Grow(64<<20))
	next := grow(p.hold(t, "b"), 64)
	p.waits(t, 1)
	first.Settle(1<<20 + 1)
	p.waits(t, 1) // it is more than half of all
	first.Settle(1 << 20)
	p.waits(t, 0)
	must(t, <-next)
}

// TestOneControllerLeavesMemoryToOthers has a controller take all that it may have, with passes that do not end.
func TestOneControllerLeavesMemoryToOthers(t *testing.T) {
	p := poolOf(20)
	for range 2 { // one has half of all, one is favoured
		must(t, p.hold(t, "greedy").Grow(10<<20))
	}
	more := grow(p.hold(t, "greedy"), 10)
	p.waits(t, 1)
	select {
	case err := <-more:
		t.Fatalf("it has more than half: %v", err)
	default:
	}
	p.mu.Lock()
	greedy := p.used
	p.mu.Unlock()
	if greedy != 20<<20 {
		t.Errorf("it has %d bytes", greedy)
	}
	other := p.hold(t, "other") // at once
	must(t, other.Grow(10<<20))
	other.Close()
	p.favoured.Settle(2 << 20) // that does not make it less than half
	must(t, other.Grow(10<<20))
	p.waits(t, 1)
}

// TestOneTenantLeavesMemoryToOthers has two controllers, with accounts in one namespace, take all that they may have.
func TestOneTenantLeavesMemoryToOthers(t *testing.T) {
	p := poolOf(20)
	p.tenants.Set("one", &v1.ServiceAccountRef{Namespace: "greedy", Name: "a"})
	p.tenants.Set("two", &v1.ServiceAccountRef{Namespace: "greedy", Name: "b"})
	must(t, p.hold(t, "one").Grow(10<<20)) // half of all
	must(t, p.hold(t, "two").Grow(10<<20)) // it is favoured
	grow(p.hold(t, "two"), 10)
	p.waits(t, 1)
	p.tenants.Set("two", &v1.ServiceAccountRef{Namespace: "other", Name: "b"}) // what it holds stays on the old account
	must(t, p.hold(t, "other").Grow(10<<20))                                   // at once
	p.favoured.Close()
	if used := p.by["namespace/greedy"]; used != 20<<20 { // another one was favoured
		t.Errorf("%d bytes are used", used)
	}
}

// TestControllersGetMemoryInTurn has one controller wait with many passes, and another one with one.
func TestControllersGetMemoryInTurn(t *testing.T) {
	p := poolOf(2)
	first := p.hold(t, "many")
	must(t, first.Grow(64<<20)) // more than there is: it is favoured
	holds := map[*Reservation]<-chan error{}
	for range 8 {
		h := p.hold(t, "many")
		holds[h] = grow(h, 4)
		p.waits(t, len(holds))
	}
	few := p.hold(t, "few")
	fewDone := grow(few, 4)
	p.waits(t, 9)
	first.Close()
	p.waits(t, 8) // one of many
	p.mu.Lock()
	favoured := p.favoured
	p.mu.Unlock()
	must(t, <-holds[favoured])
	favoured.Close()
	must(t, <-fewDone) // and then it is the turn of few
	p.waits(t, 7)
}

func TestWhoWaitsForMemoryCanBeStopped(t *testing.T) {
	p := poolOf(0)
	must(t, p.hold(t, "a").Grow(1<<20))
	ctx, cancel := context.WithCancel(t.Context())
	var h Reservation
	h.Open(ctx, p, "b")
	done := grow(&h, 1)
	p.waits(t, 1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	p.waits(t, 0)
	if err := h.Grow(1); !errors.Is(err, context.Canceled) {
		t.Errorf("later, the error is %v", err)
	}
	h.Close()
	if p.used != growth {
		t.Errorf("%d bytes are used", p.used)
	}
}

// TestPassesAskSeldom holds that little is asked for at a time.
func TestPassesAskSeldom(t *testing.T) {
	p := poolOf(20)
	h := p.hold(t, "a")
	for range 4 {
		must(t, h.Grow(growth/4))
		if h.bytes != growth {
			t.Fatalf("it holds %d bytes", h.bytes)
		}
	}
	if must(t, h.Grow(1)); h.bytes != 2*growth {
		t.Errorf("it holds %d bytes", h.bytes)
	}
	h.Settle(growth / 2)
	if must(t, h.Grow(1)); h.bytes != growth/2+growth {
		t.Errorf("after it has settled it holds %d bytes", h.bytes)
	}
}

// TestAllPassesEnd has many passes ask for as much as there may be, at a time. All end, and together they never hold more than there is.
func TestAllPassesEnd(t *testing.T) {
	p := poolOf(30)
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			rng := rand.New(rand.NewSource(int64(i)))
			for range 20 {
				h := p.hold(t, string(rune('a'+i%5)))
				left := rng.Intn(budget.MaxBytes)
				for _, part := range []int{2, 1} {
					for to := left / part; left > to/4; {
						bytes := rng.Intn(8 << 20)
						if err := h.Grow(min(bytes, left)); err != nil {
							t.Error(err)
						}
						left -= min(bytes, left)
						p.mu.Lock()
						if p.used > p.size+budget.MaxBytes+growth {
							t.Errorf("%d bytes are used, %d is all there is", p.used, p.size)
						}
						p.mu.Unlock()
					}
					h.Settle(rng.Intn(4 << 20))
				}
				h.Close()
			}
		})
	}
	all.Wait()
	if p.used != 0 || len(p.by) != 0 || p.favoured != nil || len(p.order) != 0 || len(p.waiting) != 0 {
		t.Errorf("something is left: %+v", p)
	}
}
