package watch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestLivenessRecordsListsAndEvents(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for why, row := range map[string]struct {
		happens         func(*Cache) error
		progress, heard time.Duration
	}{
		"nothing":                        {func(*Cache) error { return nil }, 0, 0},
		"a list":                         {func(c *Cache) error { return c.Replace(nil, "2") }, time.Minute, time.Minute},
		"an object":                      {func(c *Cache) error { return c.Add(child("a", "1", 3)) }, time.Minute, time.Minute},
		"an object of the first list":    {func(c *Cache) error { _, err := c.Transformer()(child("a", "1", 3)); return err }, time.Minute, time.Minute},
		"the end of one":                 {func(c *Cache) error { return c.Delete(child("a", "1", 3)) }, time.Minute, time.Minute},
		"a bookmark":                     {func(c *Cache) error { return c.Bookmark("7") }, time.Minute, time.Minute},
		"one whose version is no number": {func(c *Cache) error { return c.Bookmark("x") }, time.Minute, time.Minute},
		"an answer":                      {func(c *Cache) error { c.liveness.answered(nil); return nil }, time.Minute, time.Minute},
		"a refusal":                      {func(c *Cache) error { c.liveness.answered(errors.New("no")); return nil }, 0, time.Minute},
		"an own write that is answered":  {func(c *Cache) error { c.Put(child("a", "1", 3), "me"); return nil }, 0, 0},
	} {
		t.Run(why, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(begin)
			c := newRecorder(t, Want{Resource: configMaps, Role: Child}).Cache
			c.liveness.begin(clock.Now)
			clock.SetTime(begin.Add(time.Minute))
			if err := row.happens(c); err != nil {
				t.Fatal(err)
			}
			s := c.State()
			if diff := cmp.Diff([]time.Duration{row.progress, row.heard}, []time.Duration{s.Progress.Sub(begin), s.Heard.Sub(begin)}); diff != "" {
				t.Errorf("progress and heard (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLivenessUpdateAllocatesNothing(t *testing.T) {
	var p liveness
	p.begin(time.Now)
	if got := testing.AllocsPerRun(100, p.progressed); got > 0 {
		t.Errorf("%.0f allocations, want none", got)
	}
}

func TestManagerReportsWatchStates(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakePassiveClock(begin)
	client := newClient()
	client.forbid = true
	m := NewManager(ctx, sameClient(client), &listener{})
	m.now = clock.Now
	if states := m.States(); len(states) != 0 {
		t.Errorf("%d watches at first", len(states))
	}
	want := Want{Resource: configMaps, Role: Child}
	if _, err := m.Set("one", []Want{want}); err != nil {
		t.Fatal(err)
	}
	state := func() State { return m.States()[0] }
	clock.SetTime(begin.Add(time.Hour))
	eventually(t, "the refusal is noted", func() bool { return state().Heard.Equal(begin.Add(time.Hour)) })
	if s := state(); !s.Progress.Equal(begin) || s.Err == nil || s.Synced || s.Want != want {
		t.Errorf("a watch that is refused fares so: %+v", s)
	}
	client.mu.Lock()
	client.forbid = false
	client.mu.Unlock()
	eventually(t, "the list is noted", func() bool { s := state(); return s.Synced && s.Progress.Equal(begin.Add(time.Hour)) })
	clock.SetTime(begin.Add(2 * time.Hour)) // no event arrives: the watch is stuck
	if s := state(); s.Heard.After(begin.Add(time.Hour)) {
		t.Errorf("without an event the watch was heard of: %+v", s)
	}
	client.watch.Add(child("b", "2", 5))
	eventually(t, "the event is noted", func() bool { return state().Progress.Equal(begin.Add(2 * time.Hour)) })
	cancel()
	m.Wait()
}
