package queue

import (
	"math/rand/v2"
	"sync"
	"time"
)

// RateLimiter counts the failures of each key. It is safe for concurrent use.
type RateLimiter struct {
	mu       sync.Mutex
	failures map[Key]int
	failing  map[string]int // keys in failures, by controller; no entry is 0
}

func newRateLimiter() *RateLimiter {
	return &RateLimiter{failures: map[Key]int{}, failing: map[string]int{}}
}

// When counts a failure and returns the delay before the retry.
func (l *RateLimiter) When(key Key) time.Duration {
	delay, _ := l.fail(key)
	return delay
}

// Pace is like When for failures that may last, and may affect all parents of a controller. The delay is at least
// least, and long enough that the controller retries at most pacedPerSecond parents per second, unless very many fail.
func (l *RateLimiter) Pace(key Key, least time.Duration) time.Duration {
	delay, failing := l.fail(key)
	return max(delay, Jitter(max(least, min(time.Duration(failing)*time.Second/pacedPerSecond, maxPacedDelay))))
}

// fail counts a failure, and returns the delay before the retry and how many keys of the controller fail.
func (l *RateLimiter) fail(key Key) (delay time.Duration, failing int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, known := l.failures[key]
	l.failures[key] = n + 1
	if !known {
		l.failing[key.Controller]++
	}
	return RetryDelay(n), l.failing[key.Controller]
}

// Forget resets the failure count.
func (l *RateLimiter) Forget(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.failures[key]; !known {
		return
	}
	delete(l.failures, key)
	if l.failing[key.Controller]--; l.failing[key.Controller] == 0 {
		delete(l.failing, key.Controller)
	}
}

// NumRequeues returns the number of consecutive failures.
func (l *RateLimiter) NumRequeues(key Key) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures[key]
}

const (
	// FirstRetry is the delay before the first retry.
	FirstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Minute
	// pacedPerSecond is how many failing parents of one controller are retried per second, and maxPacedDelay is the
	// maximum delay of a parent that results from it.
	pacedPerSecond, maxPacedDelay = 50, time.Hour
)

// RetryDelay returns the delay before retry n, counted from 0: 200 ms, doubling, at most 5 min, with up to 10 % jitter.
// A negative n counts as 0.
func RetryDelay(n int) time.Duration {
	d := lastRetry
	if n = max(n, 0); n < 11 { // 200 ms << 11 is more than 5 min
		d = FirstRetry << n
	}
	return Jitter(d)
}

// Jitter adds up to 10 % at random.
func Jitter(d time.Duration) time.Duration {
	return d + time.Duration(rand.Int64N(int64(d)/10+1)) //nolint:gosec // spreads load, keeps no secret
}
