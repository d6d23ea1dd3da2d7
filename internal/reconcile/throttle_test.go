package reconcile

import (
	"testing"
	"time"
)

// server is one that works on so many requests side by side, each of which takes it service;
// more of them wait for each other.
type server struct {
	width   int
	service time.Duration
}

// takes is how long each of n requests takes that are under way at a time.
func (s server) takes(n int) time.Duration {
	return s.service * time.Duration(max(n, s.width)) / time.Duration(s.width)
}

// feed makes requests, as many at a time as the throttle says, until it has thought
// over the limit n times, and returns the limits.
func (t *throttle) feed(s server, n int) []int {
	limits := make([]int, n)
	for i := range limits {
		for range sample {
			t.took(1, s.takes(t.limit))
		}
		limits[i] = t.limit
	}
	return limits
}

func TestThrottle(t *testing.T) {
	for name, row := range map[string]struct {
		server      server
		most        int
		least, peak int // the limits between which it ends up
	}{
		"a server that is busy with two":     {server{2, 5 * time.Millisecond}, 32, 2, 3},
		"a server that is busy with ten":     {server{10, 5 * time.Millisecond}, 32, 10, 13},
		"a server far away that is not busy": {server{1000, 50 * time.Millisecond}, 32, 32, 32},
		"few workers":                        {server{1000, time.Millisecond}, 4, 4, 4},
		"one worker":                         {server{1000, time.Millisecond}, 1, 2, 2},
		"requests that take no time":         {server{1, 0}, 8, 8, 8},
	} {
		t.Run(name, func(t *testing.T) {
			limiter := newThrottle(row.most)
			limits := limiter.feed(row.server, 100)[50:]
			for _, limit := range limits {
				if limit < row.least || limit > row.peak {
					t.Fatalf("limits %v, want %d to %d", limits, row.least, row.peak)
				}
			}
		})
	}
}

func TestTheThrottleFollowsTheServer(t *testing.T) {
	limiter := newThrottle(32)
	fast, slow := server{20, 5 * time.Millisecond}, server{2, 20 * time.Millisecond}
	limiter.feed(fast, 50)
	if limiter.limit < 20 {
		t.Errorf("limit %d at a server that takes 20, want 20 or more", limiter.limit)
	}
	limiter.feed(slow, 50)
	if limiter.limit > 3 {
		t.Errorf("limit %d after the server has become slow, want 2 or 3", limiter.limit)
	}
	limiter.feed(fast, 50)
	if limiter.limit < 20 {
		t.Errorf("limit %d after the server has become fast again, want 20 or more", limiter.limit)
	}
}
