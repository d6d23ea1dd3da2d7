package watch

import (
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ErrDefect means that a bug prevented the cache from storing a watch event. The next list recovers from this, because a watch
// does not repeat events.
var ErrDefect = errors.New("a bug in templater: please report it with the stack trace in the operator's log")

// ErrBehind means that the server responds again, but the cache does not have the changes since the failure yet.
var ErrBehind = errors.New("reading the changes since the last failure")

// currentness records whether a cache is complete, and why it may be stale. After a failure, the cache is current again only when
// data has arrived: with a Replace, or the bookmark of a resumed watch. An accepted request is not sufficient. It is safe for
// concurrent use.
type currentness struct {
	changed func() // called when the result of Synced or Err changes; must not block

	mu      sync.RWMutex
	synced  bool
	failure error // of the last request, or ErrBehind once a request was accepted again
	// unwatched is the Forbidden error of the last watch request, or nil. Without a watch, a list is stale immediately.
	unwatched error
	broken    bool // an event of the watch is missing from the cache
	fails     int  // number of times that Err has become non-nil
	// paused reports whether no watch is running, although nothing has failed: each watch ends after a few minutes, and starting
	// the next one takes a request.
	paused bool
	pauses int
}

// err is Err. The lock must be held.
func (c *currentness) err() error {
	switch {
	case c.broken:
		return ErrDefect
	case c.unwatched != nil:
		return c.unwatched
	}
	return c.failure
}

// replaced records that a list was stored. It reports whether this changes the state, and whether it is the first list.
func (c *currentness) replaced() (changed, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, first = !c.synced || c.err() != nil, !c.synced
	c.synced, c.failure, c.broken, c.paused = true, nil, false, false
	return changed, first
}

// Synced reports whether the first list has completed. The cache may be stale: see Since.
func (c *currentness) Synced() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.synced
}

// Err returns why the cache may be stale: the error of the last list or watch, ErrBehind until the cache has caught up after such
// an error, or ErrDefect if an event was not stored. It is nil if nothing has failed, even before the first list.
func (c *currentness) Err() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.err()
}

// state returns Synced and Err atomically.
func (c *currentness) state() (synced bool, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.synced, c.err()
}

// Failures returns the number of times that Err has become non-nil. It shows whether there was a failure between two calls of Err
// that returned nil.
func (c *currentness) Failures() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.fails
}

// Readable reports whether the cache has synced and no failure is pending. The watch may be between two requests.
func (c *currentness) Readable() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.synced && c.err() == nil
}

// Since identifies the period in which the cache has been current. The period starts with a Replace, a bookmark, or a watch that
// continues a previous one; it ends when a request fails or the watch ends. Since is 0 while the cache is not current, and
// increases after each interruption. So two equal results other than 0 mean that the cache was current between them.
func (c *currentness) Since() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.synced || c.paused || c.err() != nil {
		return 0
	}
	return uint64(c.fails) + uint64(c.pauses) + 1 //nolint:gosec // they count up from 0
}

// Paused records that no watch is running until Watching or Replace is called.
func (c *currentness) Paused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.paused {
		c.paused = true
		c.pauses++
	}
}

// Fail records that a list or watch request failed.
func (c *currentness) Fail(err error) { c.note(func() { c.failure = err }) }

// FailWatch is Fail for a watch request.
func (c *currentness) FailWatch(err error) {
	c.note(func() {
		c.failure, c.unwatched = err, nil
		if apierrors.IsForbidden(err) {
			c.unwatched = err
		}
	})
}

// Listing records that a relist starts, because the Reflector's resourceVersion expired.
func (c *currentness) Listing() {
	c.note(func() {
		if c.synced && c.err() == nil {
			c.failure = ErrBehind
		}
	})
}

// Watching records that the server accepted a watch. Earlier changes have not been delivered yet.
func (c *currentness) Watching() {
	c.note(func() {
		c.unwatched, c.paused = nil, false
		if c.synced && c.failure != nil {
			c.failure = ErrBehind
		}
	})
}

// caughtUp records that the watch has delivered all changes up to now.
func (c *currentness) caughtUp() {
	c.note(func() {
		if errors.Is(c.failure, ErrBehind) {
			c.failure = nil
		}
	})
}

// markBroken records that a watch event is missing from the cache.
func (c *currentness) markBroken() { c.note(func() { c.broken = true }) }

// resumption is how to continue after a watch has ended.
type resumption int

const (
	resume resumption = iota
	// resumeShort starts a short watch, because the server sends a bookmark shortly before its end.
	resumeShort
	// relist starts with a list, because an event is missing, or an expected bookmark did not arrive.
	relist
)

// resumption returns how to continue after the last watch.
func (c *currentness) resumption() resumption {
	c.mu.RLock()
	defer c.mu.RUnlock()
	switch {
	case c.broken || errors.Is(c.failure, ErrBehind):
		return relist
	case c.failure != nil:
		return resumeShort
	}
	return resume
}

// note applies a change, and calls changed if it changes the result of Err.
func (c *currentness) note(change func()) {
	c.mu.Lock()
	before := c.err()
	change()
	after := c.err()
	if before == nil && after != nil {
		c.fails++
	}
	c.mu.Unlock()
	if (before == nil) != (after == nil) || before != nil && before.Error() != after.Error() {
		c.changed()
	}
}
