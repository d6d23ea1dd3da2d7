package openapi

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// content is the parsed response for a path.
type content struct {
	set   Set               // from a CustomResourceDefinition, list or document
	paths map[string]string // from the index: the path of the document of each group version

	// Only from a CustomResourceDefinition.
	uid        types.UID
	generation int64

	at time.Time // time of the request; zero = never
}

// want describes a read.
type want struct {
	path string
	// current reports whether the cached content is still valid.
	current func(content) bool
	parse   func([]byte) (content, error)
}

// source is a cached path of the server.
type source struct {
	turn chan struct{} // lock of the next three fields; a channel, so that callers can stop waiting
	content
	failures int       // consecutive failures
	retry    time.Time // earliest time of the next request

	// The lock of the Cache protects the following fields.
	bytes   int
	used    uint64                        // value of Cache.uses at the last use
	missing map[schema.GroupKind]struct{} // kinds that could not be read; if not empty, a timer is running
}

// read returns the content at a path, and whether it is current. If it cannot be read now, read returns the previous content,
// which may be empty, and calls Again for the kind later.
func (c *Cache) read(ctx context.Context, gk schema.GroupKind, w want) (content, bool) {
	s := c.use(w.path)
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		c.miss(s, gk, minBackoff)
		return content{}, false
	}
	if !s.at.IsZero() && w.current(s.content) {
		return s.content, true
	}
	if wait := c.wait(s); wait > 0 {
		c.miss(s, gk, wait)
		return s.content, false
	}
	read, err := c.fetch(ctx, w)
	if err != nil {
		c.Logger.V(2).Info("cannot read the OpenAPI schemas of the API server, will retry", "path", w.path, "err", err)
		wait := min(minBackoff<<min(s.failures, 10), maxBackoff)
		s.failures, s.retry = s.failures+1, c.Clock.Now().Add(wait)
		if ctx.Err() != nil {
			c.pause()
		}
		c.miss(s, gk, wait)
		return s.content, false
	}
	s.content, s.failures = read, 0
	c.keep(w.path, s)
	return read, true
}

// wait returns how long the source must not be read because of a backoff.
func (c *Cache) wait(s *source) time.Duration {
	now := c.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(s.retry.Sub(now), c.away.Sub(now))
}

// pause makes callers fail immediately for some time after a request has used up the caller's whole timeout. Otherwise, lookups
// of many kinds would each wait for the timeout.
func (c *Cache) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = c.Clock.Now().Add(minBackoff)
}

// fetch sends the request and parses the response.
func (c *Cache) fetch(ctx context.Context, w want) (content, error) {
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
	case <-ctx.Done():
		return content{}, ctx.Err()
	}
	at := c.Clock.Now()
	text, err := c.Reader.Read(ctx, w.path, c.most())
	if err != nil {
		return content{}, err
	}
	read, err := w.parse(text)
	read.at = at
	return read, err
}

// most returns the maximum size of a response in bytes.
func (c *Cache) most() int64 {
	if c.Definitions == nil {
		return maxCustomRead
	}
	return MaxDocumentBytes
}

// use returns the source for a path.
func (c *Cache) use(path string) *source {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sources[path]
	if s == nil {
		s = &source{turn: make(chan struct{}, 1)}
		c.sources[path] = s
	}
	c.uses++
	s.used = c.uses
	return s
}

// keep updates the memory size of a source, and evicts the least recently used ones if the limit is exceeded.
func (c *Cache) keep(path string, s *source) {
	size := sizeOf(s.set)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sources[path] != s { // evicted in the meantime
		return
	}
	c.bytes += size - s.bytes
	s.bytes = size
	for c.bytes > maxTypeBytes {
		least := ""
		for path, other := range c.sources {
			if other != s && other.bytes > 0 && (least == "" || other.used < c.sources[least].used) {
				least = path
			}
		}
		if least == "" {
			return
		}
		c.bytes -= c.sources[least].bytes
		delete(c.sources, least)
	}
}

// miss records that a source could not be read for a kind, and starts a timer that calls Again.
func (c *Cache) miss(s *source, gk schema.GroupKind, wait time.Duration) {
	if c.Again == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.missing == nil {
		s.missing = map[schema.GroupKind]struct{}{}
		c.Clock.AfterFunc(wait, func() { c.callAgain(s) })
	}
	s.missing[gk] = struct{}{}
}

func (c *Cache) callAgain(s *source) {
	c.mu.Lock()
	missing := s.missing
	s.missing = nil
	c.mu.Unlock()
	for gk := range missing {
		c.Again(gk)
	}
}
