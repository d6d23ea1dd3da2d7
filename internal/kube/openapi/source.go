package openapi

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// content is what has been read from a path of the server.
type content struct {
	set   Set               // of a definition, or a document
	paths map[string]string // of the index: where the document of each version of a group is

	// Of a definition.
	uid        types.UID
	generation int64

	at time.Time // when; zero = never
}

// want says what is wanted from a path.
type want struct {
	path string
	// current reports whether it is as it was read before.
	current func(content) bool
	parse   func([]byte) (content, error)
}

// source is a path of the server.
type source struct {
	turn chan struct{} // of the one who may look at the next fields
	content
	failures int       // in a row
	retry    time.Time // not before

	// These are the Cache's, under its lock.
	bytes   int
	used    uint64                        // when, as the Cache counts
	missing map[schema.GroupKind]struct{} // who wanted it in vain; a timer runs while there are some
}

// read returns what is at a path, and true where that is current. It returns what was there before, maybe nothing, where it
// cannot be read now, and notes for which kind.
func (c *Cache) read(ctx context.Context, gk schema.GroupKind, w want) (content, bool) {
	s := c.use(w.path)
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		c.miss(s, gk, firstRead)
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
		wait := min(firstRead<<min(s.failures, 10), lastRead)
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

// wait returns how long it is too early to read a source.
func (c *Cache) wait(s *source) time.Duration {
	now := c.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(s.retry.Sub(now), c.away.Sub(now))
}

// pause has nobody wait for a server that has let somebody wait for all of his time: many kinds would take many times that.
func (c *Cache) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = c.Clock.Now().Add(firstRead)
}

// fetch makes the request.
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

// most returns how many bytes may be read at a time.
func (c *Cache) most() int64 {
	if c.Definitions == nil {
		return mostCustom
	}
	return MostRead
}

// use returns the source of a path.
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

// keep counts what a source holds now, and forgets the least used ones for it.
func (c *Cache) keep(path string, s *source) {
	size := sizeOf(s.set)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sources[path] != s { // forgotten meanwhile
		return
	}
	c.bytes += size - s.bytes
	s.bytes = size
	for c.bytes > mostTypes {
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

// miss notes for which kind a source is missing, and tells so later.
func (c *Cache) miss(s *source, gk schema.GroupKind, wait time.Duration) {
	if c.Again == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.missing == nil {
		s.missing = map[schema.GroupKind]struct{}{}
		c.Clock.AfterFunc(wait, func() { c.tell(s) })
	}
	s.missing[gk] = struct{}{}
}

func (c *Cache) tell(s *source) {
	c.mu.Lock()
	missing := s.missing
	s.missing = nil
	c.mu.Unlock()
	for gk := range missing {
		c.Again(gk)
	}
}
