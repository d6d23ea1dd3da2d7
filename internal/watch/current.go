package watch

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ErrDefect says that a cache has not taken what its watch has brought, by a fault of its own. It
// is over with the next list: a watch brings what it has brought no second time.
var ErrDefect = errors.New("a defect in templater: please report it with the stack in the operator's log")

// ErrBehind says that the server answers again, but that the cache does not yet hold what has changed meanwhile.
var ErrBehind = errors.New("reading the changes since the last failure")

// currentness is why a cache may not hold what the server has. Only data ends a failure: a Replace, or the bookmark of a watch that
// was resumed. That the server has accepted a request does not.
type currentness struct {
	failure error // of the last request, or ErrBehind once it was accepted again
	// unwatched is why the last watch request was forbidden; nil when it was not. A list alone is outdated at once.
	unwatched error
	broken    bool // something that the watch has brought is not here
	fails     int  // how often Err has become non-nil
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

// Synced reports whether the cache has once held everything. It may be outdated: see Since.
func (c *Cache) Synced() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.synced
}

// Err returns why the cache is not known to hold what the server has: the error of the last list or watch, ErrBehind until the data
// has come after such an error, ErrDefect when something could not be taken. It is nil while nothing has failed, also before the first list.
func (c *Cache) Err() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.err()
}

// Failures returns how often Err has become non-nil. It tells a
// reader of Err whether there was a failure between two answers of nil.
func (c *Cache) Failures() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.fails
}

// Since identifies the data that the cache has been current since: a Replace or a bookmark, after which no request has failed. It is
// 0 while the cache is not current, and greater after each failure. Two equal answers, not 0, say that the cache was current all the time between them.
func (c *Cache) Since() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.synced || c.err() != nil {
		return 0
	}
	return uint64(c.fails) + 1 //nolint:gosec // it counts up from 0
}

// Fail takes note that a list or watch request has failed.
func (c *Cache) Fail(err error) { c.note(func() { c.failure = err }) }

// FailWatch is Fail for a watch request.
func (c *Cache) FailWatch(err error) {
	c.note(func() {
		c.failure, c.unwatched = err, nil
		if apierrors.IsForbidden(err) {
			c.unwatched = err
		}
	})
}

// Listing takes note that everything is about to be read again: the Reflector has lost its place.
func (c *Cache) Listing() {
	c.note(func() {
		if c.synced && c.err() == nil {
			c.failure = ErrBehind
		}
	})
}

// Watching takes note that the server has accepted a watch. What changed while it did not is still to come.
func (c *Cache) Watching() {
	c.note(func() {
		c.unwatched = nil
		if c.synced && c.failure != nil {
			c.failure = ErrBehind
		}
	})
}

// caughtUp takes note that the watch has brought everything up to now.
func (c *Cache) caughtUp() {
	c.note(func() {
		if errors.Is(c.failure, ErrBehind) {
			c.failure = nil
		}
	})
}

// defect takes note that the cache lacks something that the watch has brought.
func (c *Cache) defect() { c.note(func() { c.broken = true }) }

// resumption is how a watch is to go on.
type resumption int

const (
	resume resumption = iota
	// resumeBriefly is by a watch that ends soon: shortly before, the server sends a bookmark.
	resumeBriefly
	// listAnew is by a list: something is missing, or no bookmark came when one was due.
	listAnew
)

// resumption returns how a watch is to go on after the last one.
func (c *Cache) resumption() resumption {
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
func (c *Cache) note(change func()) {
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
