package reconcile

import (
	"context"
	"sync"
	"time"

	"github.com/templater-dev/templater/internal/reconcile/queue"
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

// crew is a number of workers, of whom one waits for work at any time, as long as there are places. Work that waits for
// an answer for long takes none.
type crew struct {
	desks *desks
	// next does one piece of work with that context, and reports whether there may be more. It calls taken as soon as
	// there is one.
	next func(work context.Context, taken func()) bool
	// places is how much work may be under way, but for that which waits for long; 0 means that who hands it out bounds it.
	places int
	// spare is how many workers that have nothing to do wait for work at most.
	spare int
	// due is how much work there is that may begin, and hangs is told of work that waits for long. Both may be nil.
	due   func() int
	hangs func(key queue.Key)
	// grace is how long work may go on when the crew is to stop.
	grace time.Duration

	group         sync.WaitGroup
	mu            sync.Mutex
	idle, working int
	relieved      int // of those that work
}

// run has workers work with contexts made of work, until ctx ends. It returns when all of them are
// finished; work that does not end in time is cut short.
func (c *crew) run(ctx, work context.Context) {
	work, cut := context.WithCancel(work)
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(c.grace, cut) })()
	c.mu.Lock()
	c.hire(work)
	c.mu.Unlock()
	c.group.Go(func() {
		ticker := time.NewTicker(lookout)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				c.relieve(work)
			}
		}
	})
	c.group.Wait()
}

// hire adds a worker; the lock is held.
func (c *crew) hire(work context.Context) {
	c.idle++
	c.group.Go(func() {
		ctx := c.desks.seat(work)
		own := deskOf(ctx)
		defer func() { c.desks.leave(own) }()
		for c.next(ctx, func() { c.taken(work) }) && !c.done(own) {
			if ctx.Err() != nil && work.Err() == nil { // that piece of work was cut short
				c.desks.leave(own)
				ctx = c.desks.seat(work)
				own = deskOf(ctx)
			}
		}
	})
}

// taken takes note that a worker has begun, and sees to it that another one waits for work.
func (c *crew) taken(work context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle--
	c.working++
	if c.idle == 0 && (c.places == 0 || c.working-c.relieved < c.places) {
		c.hire(work)
	}
}

// done takes note that a worker is finished, and reports whether it is one too many.
func (c *crew) done(own *desk) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working--
	if own.takeBack() {
		c.relieved--
	}
	tooMany := c.places > 0 && c.idle+c.working-c.relieved >= c.places || c.idle >= c.spare
	if tooMany && (c.due == nil || c.due() == 0) { // nobody else may know that work may begin now
		return true
	}
	c.idle++
	return false
}

// relieve has others work in place of those who wait for long.
func (c *crew) relieve(work context.Context) {
	for _, key := range c.desks.relieve() {
		if c.hangs != nil {
			c.hangs(key)
		}
		c.mu.Lock()
		c.relieved++
		if c.idle == 0 || c.due != nil && c.due() > 0 {
			c.hire(work)
		}
		c.mu.Unlock()
	}
	c.desks.reclaim()
}
