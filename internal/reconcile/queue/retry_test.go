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

func TestRetryRateOfManyFailingParentsIsLimited(t *testing.T) {
	const conflict = 30 * time.Second
	for _, row := range []struct {
		why       string
		parents   int
		least     time.Duration
		first     time.Duration // wait of the first parent, without jitter
		longest   time.Duration // wait after many failures, with jitter
		perSecond float64
	}{
		{"one", 1, 0, FirstRetry, 330 * time.Second, 0.004},
		{"one with a conflict", 1, conflict, conflict, 330 * time.Second, 0.004},
		{"some", 1_000, 0, FirstRetry, 330 * time.Second, 3.4},
		{"many", 50_000, 0, FirstRetry, 1_100 * time.Second, 50},
		{"many with conflicts", 50_000, conflict, conflict, 1_100 * time.Second, 50},
		{"very many", 200_000, 0, FirstRetry, 66 * time.Minute, 56},
	} {
		t.Run(row.why, func(t *testing.T) {
			failures, keys := newRateLimiter(), manyKeys("a", row.parents)
			for i, key := range keys {
				wait := failures.Pace(key, row.least)
				if most := row.first + row.first/10; i == 0 && (wait < row.first || wait > most) {
					t.Errorf("the first wait is %s, want %s to %s", wait, row.first, most)
				}
			}
			var longest time.Duration
			rate := 0.0
			for range 12 {
				longest, rate = 0, 0
				for _, key := range keys {
					wait := failures.Pace(key, row.least)
					longest = max(longest, wait)
					rate += 1 / wait.Seconds()
				}
			}
			if longest > row.longest || rate > row.perSecond {
				t.Errorf("the longest wait is %s, and there are %.2f retries a second; want at most %s and %.2f", longest, rate, row.longest, row.perSecond)
			}
			if wait := failures.Pace(keyOf("b", "1"), 0); wait > FirstRetry+FirstRetry/10 {
				t.Errorf("a parent of another controller waits %s", wait)
			}
			for _, key := range keys {
				failures.Forget(key)
				failures.Forget(key)
			}
			if wait := failures.Pace(keys[0], 0); wait > FirstRetry+FirstRetry/10 || len(failures.failing) != 2 {
				t.Errorf("after all others have succeeded, a parent waits %s, and %d controllers have failing parents, want 2", wait, len(failures.failing))
			}
		})
	}
}
