package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/budget"
)

// reservation returns a reservation that ends with the test.
func (m *Memory) reservation(t *testing.T, controller string) *Reservation {
	t.Helper()
	var h Reservation
	h.Open(t.Context(), m, controller)
	return &h
}

// shippedMemory returns the Memory for templater's default memory limit: there are two slots.
func shippedMemory() *Memory { return NewMemory(460<<20, NewTenants()) }

// grow calls h.Grow in the background, and returns its result.
func grow(h *Reservation) <-chan error {
	done := make(chan error, 1)
	go func() { done <- h.Grow(1) }()
	return done
}

// expectWaiting fails unless the given number of reconciliations wait for a slot.
func (m *Memory) expectWaiting(t *testing.T, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d wait", want), func() bool { return m.Waiting() == want })
}

func (m *Memory) expectIdle(t *testing.T) {
	t.Helper()
	m.slots.expectIdle(t)
	if m.all != 0 || len(m.kept) > 0 {
		t.Errorf("%d bytes are kept, by %v", m.all, m.kept)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMemoryLimitIsDividedIntoSlots(t *testing.T) {
	for why, row := range map[string]struct {
		limit              int64
		slots, share, room int
	}{
		"480 MiB":     {480 << 20, 2, 1, 32 << 20},
		"small":       {192 << 20, 1, 1, 0},
		"nothing":     {0, 1, 1, 0},
		"large":       {3 << 30, 14, 7, 128 << 20},
		"none is set": {math.MaxInt64, 9, 4, assumedLimit/memoryShare - 9*budget.MaxBytes},
	} {
		t.Run(why, func(t *testing.T) {
			m := NewMemory(row.limit, NewTenants())
			if m.slots.most != row.slots || m.slots.share != row.share || m.room != row.room {
				t.Errorf("%d slots, %d for one tenant, and room for %d bytes, want %d, %d and %d", m.slots.most, m.slots.share, m.room, row.slots, row.share, row.room)
			}
		})
	}
}

func TestTenantCannotExhaustMemory(t *testing.T) {
	m := shippedMemory()
	m.tenants.Set("one", &v1.ServiceAccountRef{Namespace: "greedy", Name: "a"})
	m.tenants.Set("two", &v1.ServiceAccountRef{Namespace: "greedy", Name: "b"})
	first, second, other := m.reservation(t, "one"), m.reservation(t, "two"), m.reservation(t, "other")
	must(t, first.Grow(1))
	must(t, first.Grow(budget.MaxBytes)) // included in the slot
	waiting := grow(second)
	m.expectWaiting(t, 1)
	must(t, other.Grow(1)) // immediately
	other.Close()
	m.expectWaiting(t, 1)
	m.tenants.Set("one", &v1.ServiceAccountRef{Namespace: "other", Name: "a"}) // its reservation is still counted for the old tenant
	first.Close()
	must(t, <-waiting)
	second.Close()
	m.expectIdle(t)
}

func TestSettleReleasesSlotIfMemoryAllows(t *testing.T) {
	m := shippedMemory()
	half := m.room / 2
	for _, step := range []struct {
		why     string
		tenant  string
		keep    int
		hasSlot bool
	}{
		{"there is room", "a", half - 10, false},
		{"there is no more for this tenant", "a", 11, true},
		{"another one has as much", "b", half, false},
		{"there is just as much as is left", "c", m.room - 2*half + 10, false},
		{"there is none for anybody", "d", 1, true},
	} {
		h := m.reservation(t, step.tenant)
		must(t, h.Grow(1))
		if h.Settle(step.keep); h.hasSlot != step.hasSlot {
			t.Errorf("%s: it has a slot %v, want %v", step.why, h.hasSlot, step.hasSlot)
		}
		if step.hasSlot {
			h.Close()
		}
	}
}

// TestSettledReservationTakesSlotAgain: the slot includes the memory that was kept.
func TestSettledReservationTakesSlotAgain(t *testing.T) {
	m := shippedMemory()
	h, other := m.reservation(t, "a"), m.reservation(t, "a")
	must(t, h.Grow(1))
	h.Settle(1 << 20)
	must(t, other.Grow(1))
	waiting := grow(h)
	m.expectWaiting(t, 1)
	other.Close()
	must(t, <-waiting)
	if m.all != 0 {
		t.Errorf("%d bytes are kept besides the slot", m.all)
	}
	h.Settle(2 << 20)
	h.Settle(1 << 20) // not more than it has
	if m.all != 2<<20 {
		t.Errorf("%d bytes are kept, want 2 MiB", m.all)
	}
	h.Close()
	h.Close()
	m.expectIdle(t)
}

// TestReservationWaitingForMemoryKeepsWorker: one reconciliation waits for memory, another one for a response. If both
// gave up their slots, more and more reconciliations would wait for memory, each holding budget.FreeBytes.
func TestReservationWaitingForMemoryKeepsWorker(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	m := shippedMemory()
	d := NewWorkerTracker(clock, NewProcessors(2, m.tenants), nil)
	var holds [2]Reservation
	for i := range holds {
		ctx := d.Join(t.Context())
		WorkerOf(ctx).Begin(keyOf("a", fmt.Sprint(i)))
		holds[i].Open(ctx, m, "a")
	}
	must(t, holds[0].Grow(1))
	waiting := grow(&holds[1])
	m.expectWaiting(t, 1)
	eventually(t, "only the other one is busy", func() bool { return len(d.Busy()) == 1 })
	clock.SetTime(clock.Now().Add(Patience))
	if got := d.relieve(); !slices.Equal(got, []Key{keyOf("a", "0")}) {
		t.Errorf("%v are relieved", got)
	}
	holds[0].worker.End()
	holds[0].Close()
	must(t, <-waiting)
	holds[1].worker.End()
	holds[1].Close()
	m.expectIdle(t)
}

func TestWaitingForMemoryCanBeCanceled(t *testing.T) {
	m := shippedMemory()
	first := m.reservation(t, "a")
	must(t, first.Grow(1))
	ctx, cancel := context.WithCancel(t.Context())
	var h Reservation
	h.Open(ctx, m, "a")
	done := grow(&h)
	m.expectWaiting(t, 1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if err := h.Grow(1); !errors.Is(err, context.Canceled) {
		t.Errorf("later, the error is %v", err)
	}
	h.Close()
	first.Close()
	m.expectIdle(t)
}

// TestConcurrentReservationsAllComplete: many reservations need memory concurrently, several times each. All complete,
// and together they never exceed the limit.
func TestConcurrentReservationsAllComplete(t *testing.T) {
	m := NewMemory(1<<30, NewTenants())
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			rng := rand.New(rand.NewSource(int64(i)))
			for range 50 {
				h := m.reservation(t, string(rune('a'+i%5)))
				for range 3 {
					if err := h.Grow(1); err != nil {
						t.Error(err)
					}
					if held := m.Held(); held > (1<<30)/memoryShare {
						t.Errorf("%d bytes are held", held)
					}
					h.Settle(rng.Intn(30 << 20))
				}
				h.Close()
			}
		})
	}
	all.Wait()
	m.expectIdle(t)
}
