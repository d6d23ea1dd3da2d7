package watch

import (
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ErrDefect means that a bug kept the cache from storing an event of its watch. The next list repairs that: a watch does not repeat events.
var ErrDefect = errors.New("a bug in templater: please report it with the stack trace in the operator's log")

// ErrBehind means that the server answers again, but that the cache does not yet hold the changes since the failure.
var ErrBehind = errors.New("reading the changes since the last failure")

// currentness is whether a cache has everything, and why it may be outdated. Only data ends a failure: a Replace, or the bookmark of a resumed
// watch. An accepted request does not. It is safe for concurrent use.
type currentness struct {
	changed func() // Synced or Err answer differently; it must be quick

	mu      sync.RWMutex
	synced  bool
	failure error // of the last request, or ErrBehind once it was accepted again
	// unwatched is why the last watch request was forbidden; nil when it was not. A list alone is outdated at once.
	unwatched error
	broken    bool // an event of the watch is missing from the cache
	fails     int  // how often Err has become non-nil
	// paused is whether no watch runs, although nothing has failed: each watch ends after some minutes, and the next one takes a request.
	paused bool
	pauses int
}

// err is Err; the lock is held.
func (c *currentness) err() error {
	switch {
	case c.broken:
		return ErrDefect
	case c.unwatched != nil:
		return c.unwatched
	}
	return c.failure
}

// replaced records that the cache has what a list has returned, and reports whether that changes its state, or is the first list.
func (c *currentness) replaced() (changed, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, first = !c.synced || c.err() != nil, !c.synced
	c.synced, c.failure, c.broken, c.paused = true, nil, false, false
	return changed, first
}

// Synced reports whether the cache has once held everything. It may be outdated: see Since.
func (c *currentness) Synced() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.synced
}

// Err returns why the cache is not known to hold what the server has: the error of the last list or watch, ErrBehind until the data
// has come after such an error, ErrDefect when something could not be taken. It is nil while nothing has failed, also before the first list.
func (c *currentness) Err() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.err()
}

// state is Synced and Err at one time.
func (c *currentness) state() (synced bool, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.synced, c.err()
}

// Failures returns how often Err has become non-nil. It shows a
// reader of Err whether there was a failure between two results of nil.
func (c *currentness) Failures() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.fails
}

// Readable reports whether the cache has once held everything, and nothing has failed since. Its watch may be between two requests.
func (c *currentness) Readable() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.synced && c.err() == nil
}

// Since identifies the period in which the cache has been current: it begins with a Replace, a bookmark or a watch that continues another one;
// no request has failed since, and the watch has not ended. Since is 0 while the cache is not current, and greater after each interruption.
// Two equal results other than 0 mean that the cache was current between them.
func (c *currentness) Since() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.synced || c.paused || c.err() != nil {
		return 0
	}
	return uint64(c.fails) + uint64(c.pauses) + 1 //nolint:gosec // they count up from 0
}

// Paused records that no watch runs until Watching or Replace.
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

// Listing records that everything is about to be read again, because the Reflector lost its resourceVersion.
func (c *currentness) Listing() {
	c.note(func() {
		if c.synced && c.err() == nil {
			c.failure = ErrBehind
		}
	})
}

// Watching records that the server accepted a watch. Earlier changes are yet to be delivered.
func (c *currentness) Watching() {
	c.note(func() {
		c.unwatched, c.paused = nil, false
		if c.synced && c.failure != nil {
			c.failure = ErrBehind
		}
	})
}

// caughtUp records that the watch has delivered everything up to now.
func (c *currentness) caughtUp() {
	c.note(func() {
		if errors.Is(c.failure, ErrBehind) {
			c.failure = nil
		}
	})
}

// defect records that the cache lacks an event of the watch.
func (c *currentness) defect() { c.note(func() { c.broken = true }) }

// resumption is how a watch continues.
type resumption int

const (
	resume resumption = iota
	// resumeBriefly starts a short watch: the server sends a bookmark shortly before its end.
	resumeBriefly
	// listAnew starts with a list: an event is missing, or an expected bookmark did not come.
	listAnew
)

// resumption returns how to continue after the last watch.
func (c *currentness) resumption() resumption {
	c.mu.RLock()
	defer c.mu.RUnlock()
	switch {
	case c.broken || errors.Is(c.failure, ErrBehind):
		return listAnew
	case c.failure != nil:
		return resumeBriefly
	}
	return resume
}

// note makes a change after which Err may answer differently, and calls changed if it does.
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
