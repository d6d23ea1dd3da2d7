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

// feed has n requests made, as many at a time as the throttle says, and returns the limits
// that they were made under.
func (t *throttle) feed(s server, n int) []int {
	limits := make([]int, n)
	for i := range limits {
		limits[i] = t.limit
		t.took(1, s.takes(t.limit))
	}
	return limits
}

func mean(numbers []int) float64 {
	sum := 0
	for _, n := range numbers {
		sum += n
	}
	return float64(sum) / float64(len(numbers))
}

func TestThrottle(t *testing.T) {
	for name, row := range map[string]struct {
		server      server
		most        int
		least, peak float64 // what the mean of the limits is between
	}{
		"a server that is busy with two":     {server{2, 5 * time.Millisecond}, 32, 2, 2.7},
		"a server that is busy with ten":     {server{10, 5 * time.Millisecond}, 32, 9, 13},
		"a server far away that is not busy": {server{1000, 50 * time.Millisecond}, 32, 28, 32},
		"few workers":                        {server{1000, time.Millisecond}, 4, 3.7, 4},
		"one worker":                         {server{1000, time.Millisecond}, 1, 2, 2},
		"requests that take no time":         {server{1, 0}, 8, 7, 8},
	} {
		t.Run(name, func(t *testing.T) {
			limiter := newThrottle(row.most)
			limiter.feed(row.server, 10_000)
			limits := limiter.feed(row.server, 20_000)
			if got := mean(limits); got < row.least || got > row.peak {
				t.Errorf("mean limit %.2f, want %.1f to %.1f", got, row.least, row.peak)
			}
		})
	}
}

func TestTheThrottleFollowsTheServer(t *testing.T) {
	limiter := newThrottle(32)
	fast, slow := server{20, 5 * time.Millisecond}, server{2, 20 * time.Millisecond}
	for _, step := range []struct {
		what        string
		server      server
		least, most float64
	}{
		{"at a server that takes 20", fast, 17, 28},
		{"after it has become slow", slow, 2, 2.7},
		{"after it has become fast again", fast, 17, 28},
	} {
		limiter.feed(step.server, 10_000)
		if got := mean(limiter.feed(step.server, 10_000)); got < step.least || got > step.most {
			t.Errorf("mean limit %.2f %s, want %.0f to %.1f", got, step.what, step.least, step.most)
		}
	}
}

// A time in which everything is slow must not be taken for the best that can be had.
func TestTheThrottleForgetsABadTime(t *testing.T) {
	limiter := newThrottle(32)
	limiter.feed(server{2, 40 * time.Millisecond}, 200)
	normal := server{2, 5 * time.Millisecond}
	limiter.feed(normal, 5_000)
	if got := mean(limiter.feed(normal, 5_000)); got > 2.7 {
		t.Errorf("mean limit %.2f after the bad time, want 2 to 2.7", got)
	}
}
