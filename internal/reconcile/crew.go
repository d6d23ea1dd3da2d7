package reconcile

import (
	"context"
	"sync"
	"time"
)

const (
	// patience is how long work may go on without an answer to a request before the worker gives its
	// place to another one.
	patience = time.Second
	// leastPatience is that for a controller of which work has taken as long within slowTime.
	leastPatience = 100 * time.Millisecond
	slowTime      = time.Minute
	// lookout is how often somebody looks for such work.
	lookout = 100 * time.Millisecond
)

// crew is a number of workers. One that waits for an answer for long keeps nobody else from work: another one is
// hired in its place, and it goes when it has finished what it is at. So there may be
// more work under way than there are places; who hands out the work bounds it.
type crew struct {
	desks *desks
	// next does one piece of work with that context, and reports whether there may be more.
	next func(work context.Context) bool
	// grace is how long work may go on when the crew is to stop.
	grace time.Duration
	group sync.WaitGroup
}

// run has that many workers work with contexts made of work, until ctx ends. It returns when all of them are
// finished; work that does not end in time is cut short.
func (c *crew) run(ctx, work context.Context, places int) {
	work, cut := context.WithCancel(work)
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(c.grace, cut) })()
	for range places {
		c.hire(work)
	}
	c.group.Go(func() {
		ticker := time.NewTicker(lookout)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				for range c.desks.relieve() {
					c.hire(work)
				}
			}
		}
	})
	c.group.Wait()
}

func (c *crew) hire(work context.Context) {
	c.group.Go(func() {
		ctx := c.desks.seat(work)
		own := deskOf(ctx)
		defer func() { c.desks.leave(own) }()
		for c.next(ctx) && !own.isRelieved() {
			if ctx.Err() != nil && work.Err() == nil { // that piece of work was cut short
				c.desks.leave(own)
				ctx = c.desks.seat(work)
				own = deskOf(ctx)
			}
		}
	})
}
