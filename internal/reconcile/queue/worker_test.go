package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// reconcileOnCredit runs a reconciliation with one request, with the given duration and response size in bytes. It
// returns for how long Rest sleeps. Another tenant has just made a request, too.
func reconcileOnCredit(t *testing.T, took time.Duration, size int, over bool) time.Duration {
	t.Helper()
	tenants := NewTenants()
	for _, name := range []string{"a", "b"} {
		tenants.Set(name, nil)
	}
	credit := NewCredit(clock.RealClock{}, 2, tenants)
	if over {
		credit.Charge("a", time.Hour)
	}
	own := WorkerOf(NewWorkerTracker(clock.RealClock{}, NewProcessors(1, tenants), credit).Join(t.Context()))
	own.Begin(keyOf("a", "p"))
	own.Asked()
	<-time.After(took)
	own.Answered(size)
	own.End()
	credit.Charge("b", 0)
	start := time.Now()
	own.Rest(t.Context())
	return time.Since(start)
}

func TestThrottledReconciliationSleepsForRequestCost(t *testing.T) {
	for why, row := range map[string]struct {
		took time.Duration
		size int
		over bool
		want time.Duration
	}{
		"it has credit":                     {20 * time.Millisecond, 1 << 20, false, 0},
		"it has none":                       {20 * time.Millisecond, 2000, true, 20 * time.Millisecond},
		"there are no requests":             {0, 0, true, 0},
		"a large object costs more":         {20 * time.Millisecond, 5 * largeAnswer, true, 120 * time.Millisecond},
		"it waits for somebody else":        {5 * time.Second, 2000, true, Patience},
		"it waits, and the object is large": {5 * time.Second, 100 * largeAnswer, true, maxRest},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := reconcileOnCredit(t, row.took, row.size, row.over); got != row.want {
				t.Errorf("%s: it rests for %v, want %v", why, got, row.want)
			}
		})
	}
}

func TestRequestsAreChargedToTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tenants := NewTenants()
		tenants.Set("a", nil)
		tenants.Set("b", nil)
		credit := NewCredit(clock.RealClock{}, 1, tenants)
		tracker := NewWorkerTracker(clock.RealClock{}, NewProcessors(1, tenants), credit)
		var all []*Worker
		for range 32 {
			own := WorkerOf(tracker.Join(t.Context()))
			own.Begin(keyOf("a", "p"))
			own.Asked()
			all = append(all, own)
		}
		for _, controller := range []string{"a", "b"} {
			if credit.Over(controller) {
				t.Errorf("%s is over its credit before there is an answer", controller)
			}
		}
		<-time.After(Patience)
		credit.Charge("b", 0)
		for _, own := range all {
			own.Answered(0)
			own.End()
		}
		if !credit.Over("a") || credit.Over("b") {
			t.Errorf("over their credit are a %v, b %v, want a, who has had 32 requests for a second", credit.Over("a"), credit.Over("b"))
		}
	})
}

func TestRestEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tenants := NewTenants()
		tenants.Set("a", nil)
		tenants.Set("b", nil)
		credit := NewCredit(clock.RealClock{}, 2, tenants)
		credit.Charge("a", time.Hour)
		own := WorkerOf(NewWorkerTracker(clock.RealClock{}, NewProcessors(1, tenants), credit).Join(t.Context()))
		own.Begin(keyOf("a", "p"))
		own.Asked()
		<-time.After(Patience)
		own.Answered(0)
		own.End()
		credit.Charge("b", 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		own.Rest(ctx)
		if got := time.Since(start); got != time.Millisecond {
			t.Errorf("it goes on to rest for %v after the end", got-time.Millisecond)
		}
	})
}
