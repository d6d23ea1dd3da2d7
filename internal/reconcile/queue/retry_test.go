package queue

import (
	"testing"
	"time"
)

func TestRetryDelaysDoubleUpToFiveMinutes(t *testing.T) {
	for why, row := range map[string]struct {
		retry int
		least time.Duration
	}{
		"the first":                          {0, 200 * time.Millisecond},
		"the second":                         {1, 400 * time.Millisecond},
		"the third":                          {2, 800 * time.Millisecond},
		"the last below the limit":           {10, 204800 * time.Millisecond},
		"the first at the limit":             {11, 5 * time.Minute},
		"a shift by which leaves no bit":     {64, 5 * time.Minute},
		"after days of failures":             {1 << 40, 5 * time.Minute},
		"none that there can be, as a first": {-1, 200 * time.Millisecond},
	} {
		t.Run(why, func(t *testing.T) {
			most := row.least + row.least/10
			seen := map[time.Duration]bool{}
			for range 1000 {
				got := RetryDelay(row.retry)
				if got < row.least || got > most {
					t.Fatalf("retry %d after %s, want %s to %s", row.retry, got, row.least, most)
				}
				seen[got] = true
			}
			if len(seen) == 1 {
				t.Errorf("retry %d is always after the same time: what failed together is tried again together", row.retry)
			}
		})
	}
}

func TestFailuresAreCountedPerKey(t *testing.T) {
	_, failures := New(nil, NewFairQueue(100, NewTenants(), nil))
	key, other := keyOf("a", "1"), keyOf("a", "2")
	for n, least := range []time.Duration{FirstRetry, 2 * FirstRetry, 4 * FirstRetry} {
		if wait := failures.When(key); wait < least || wait > least+least/10 {
			t.Errorf("failure %d: wait %s, want about %s", n+1, wait, least)
		}
	}
	if got := failures.NumRequeues(key); got != 3 || failures.NumRequeues(other) != 0 {
		t.Errorf("%d failures, want 3, and none of another key", got)
	}
	if failures.Forget(key); failures.NumRequeues(key) != 0 {
		t.Error("the row of failures does not end")
	}
}
