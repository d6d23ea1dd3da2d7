package queue

import (
	"context"
	"sync"
	"time"
)

const (
	// Patience is how long work may wait for the response to a request before another worker gets its slot.
	Patience = time.Second
	// minPatience is used instead for a controller whose work exceeded it within slowTime.
	minPatience = 100 * time.Millisecond
	slowTime    = time.Minute
	// relieveInterval is the interval at which hanging work is detected.
	relieveInterval = 100 * time.Millisecond
)

// Pool is a dynamic pool of workers. One idle worker waits for work while slots are free. Work that waits for a slow
// response does not use a slot. If Slots is set, nor does work that computes for long, which Processors limits.
type Pool struct {
	// Tracker tracks the workers of the pool, and possibly others.
	Tracker *WorkerTracker
	// Next processes one item with the context, and returns false if there are no more. It calls taken as soon as it has
	// an item.
	Next func(work context.Context, taken func()) bool
	// Slots limits the work in progress, excluding work that gave its slot away; 0 means that the queue limits it.
	Slots int
	// Spare is the maximum number of idle workers.
	Spare int
	// Due returns how much work may begin, and Hangs is called for work that hangs. Both may be nil.
	Due   func() int
	Hangs func(key Key)
	// Grace is how long work may continue after the pool is stopped.
	Grace time.Duration

	group         sync.WaitGroup
	mu            sync.Mutex
	idle, working int
	relieved      int // number of working that gave their slots away
}

// Run runs the workers, with contexts derived from work, until ctx is done. It returns when all of them have finished;
// work that exceeds the grace period is canceled.
func (p *Pool) Run(ctx, work context.Context) {
	work, cut := context.WithCancel(work)
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(p.Grace, cut) })()
	p.mu.Lock()
	p.hire(work)
	p.mu.Unlock()
	p.group.Go(func() {
		ticker := time.NewTicker(relieveInterval)
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

// hire adds a worker. The caller holds the lock.
func (p *Pool) hire(work context.Context) {
	p.idle++
	p.group.Go(func() {
		ctx, own := p.join(work)
		defer func() { p.Tracker.leave(own) }()
		for p.Next(ctx, func() { p.taken(work) }) && !p.done(own) {
			if ctx.Err() != nil && work.Err() == nil { // only this work was canceled
				p.Tracker.leave(own)
				ctx, own = p.join(work)
			}
		}
	})
}

// join returns a new worker and its context.
func (p *Pool) join(work context.Context) (context.Context, *Worker) {
	ctx := p.Tracker.Join(work)
	own := WorkerOf(ctx)
	if p.Slots > 0 {
		own.handOver = func() {
			if own.giveUp() {
				p.replace(work)
			}
		}
	}
	return ctx, own
}

// taken records that a worker has begun, and adds an idle worker if a slot is free.
func (p *Pool) taken(work context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle--
	p.working++
	if p.idle == 0 && (p.Slots == 0 || p.working-p.relieved < p.Slots) {
		p.hire(work)
	}
}

// done records that a worker has finished, and reports whether it must exit because it is surplus.
func (p *Pool) done(own *Worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.working--
	if own.takeBack() {
		p.relieved--
	}
	tooMany := p.Slots > 0 && p.idle+p.working-p.relieved >= p.Slots || p.idle >= p.Spare
	if tooMany && p.due() <= max(0, p.idle-p.Spare) {
		return true
	}
	p.idle++ // no other worker may know yet that work may begin
	return false
}

func (p *Pool) due() int {
	if p.Due == nil {
		return 0
	}
	return p.Due()
}

// relieve replaces workers that hang.
func (p *Pool) relieve(work context.Context) {
	for _, key := range p.Tracker.relieve() {
		if p.Hangs != nil {
			p.Hangs(key)
		}
		p.replace(work)
	}
}

// replace records that a worker gave its slot away, and adds another one if needed.
func (p *Pool) replace(work context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.relieved++
	if p.idle == 0 || p.Due != nil && p.Due() > 0 {
		p.hire(work)
	}
}
