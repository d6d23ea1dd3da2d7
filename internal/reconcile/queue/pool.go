package queue

import (
	"context"
	"sync"
	"time"
)

const (
	// Patience is how long work may go on without an answer to a request before the worker gives its
	// place to another one.
	Patience = time.Second
	// leastPatience is that for a controller of which work has taken as long within slowTime.
	leastPatience = 100 * time.Millisecond
	slowTime      = time.Minute
	// lookout is how often somebody looks for such work.
	lookout = 100 * time.Millisecond
)

// Pool is a number of workers, one of which waits for work at any time, as long as there are places. Work that waits long for a
// response takes no place. If the pool limits the places, nor does work that computes for long: the processors limit that.
type Pool struct {
	// Tracker has its workers, and may have others.
	Tracker *WorkerTracker
	// Next does one piece of work with that context, and reports whether there may be more. It calls taken as soon as
	// there is one.
	Next func(work context.Context, taken func()) bool
	// Places is how much work may be in progress, except for work that has given its place to other work; 0 means that the queue limits it.
	Places int
	// Spare is how many workers that have nothing to do wait for work at most.
	Spare int
	// Due returns how much work may begin, and Hangs is called with work that waits for long. Both may be nil.
	Due   func() int
	Hangs func(key Key)
	// Grace is how long work may go on when the pool is to stop.
	Grace time.Duration

	group         sync.WaitGroup
	mu            sync.Mutex
	idle, working int
	relieved      int // of those that work
}

// Run has workers work with contexts made of work, until ctx ends. It returns when all of them are
// finished; work that does not end in time is cut short.
func (p *Pool) Run(ctx, work context.Context) {
	work, cut := context.WithCancel(work)
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(p.Grace, cut) })()
	p.mu.Lock()
	p.hire(work)
	p.mu.Unlock()
	p.group.Go(func() {
		ticker := time.NewTicker(lookout)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				p.relieve(work)
			}
		}
	})
	p.group.Wait()
}

// hire adds a worker; the lock is held.
func (p *Pool) hire(work context.Context) {
	p.idle++
	p.group.Go(func() {
		ctx, own := p.join(work)
		defer func() { p.Tracker.leave(own) }()
		for p.Next(ctx, func() { p.taken(work) }) && !p.done(own) {
			if ctx.Err() != nil && work.Err() == nil { // that piece of work was cut short
				p.Tracker.leave(own)
				ctx, own = p.join(work)
			}
		}
	})
}

// join returns a worker, and the context that it works with.
func (p *Pool) join(work context.Context) (context.Context, *Worker) {
	ctx := p.Tracker.Join(work)
	own := WorkerOf(ctx)
	if p.Places > 0 {
		own.handOver = func() {
			if own.giveUp() {
				p.replace(work)
			}
		}
	}
	return ctx, own
}

// taken takes note that a worker has begun, and sees to it that another one waits for work.
func (p *Pool) taken(work context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle--
	p.working++
	if p.idle == 0 && (p.Places == 0 || p.working-p.relieved < p.Places) {
		p.hire(work)
	}
}

// done takes note that a worker is finished, and reports whether it is one too many.
func (p *Pool) done(own *Worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.working--
	if own.takeBack() {
		p.relieved--
	}
	tooMany := p.Places > 0 && p.idle+p.working-p.relieved >= p.Places || p.idle >= p.Spare
	if tooMany && p.due() <= max(0, p.idle-p.Spare) {
		return true
	}
	p.idle++ // no other worker may know that work may begin now
	return false
}

func (p *Pool) due() int {
	if p.Due == nil {
		return 0
	}
	return p.Due()
}

// relieve starts workers in place of those that wait for long.
func (p *Pool) relieve(work context.Context) {
	for _, key := range p.Tracker.relieve() {
		if p.Hangs != nil {
			p.Hangs(key)
		}
		p.replace(work)
	}
}

// replace has another worker work in place of one that has given it up.
func (p *Pool) replace(work context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.relieved++
	if p.idle == 0 || p.Due != nil && p.Due() > 0 {
		p.hire(work)
	}
}
