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
}

// When counts a failure and returns the delay before the retry.
func (l *RateLimiter) When(key Key) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.failures[key]
	l.failures[key] = n + 1
	return RetryDelay(n)
}

// Forget resets the failure count.
func (l *RateLimiter) Forget(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failures, key)
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
