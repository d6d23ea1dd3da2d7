package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/templater-dev/templater/e2e/bench/contender"
	"github.com/templater-dev/templater/e2e/bench/floor"
	"github.com/templater-dev/templater/e2e/bench/observe"
)

// limit is the timeout for that many objects: far longer than a contender needs on a slow machine, so one that exceeds
// it is stuck.
func limit(objects int) time.Duration {
	return 3*time.Minute + time.Duration(objects)*40*time.Millisecond
}

// span is the cost of a piece of work.
type span struct {
	wall    time.Duration
	cpu     time.Duration // of the contender; 0 if unknown
	servers time.Duration // CPU time of the API server and etcd
}

func (s span) plus(o span) span { return span{s.wall + o.wall, s.cpu + o.cpu, s.servers + o.servers} }

// work is a piece of work to measure: begin starts it, and it is complete once each of count objects of the set has
// been observed as done.
type work struct {
	set   observe.Set
	count int
	done  func(*observe.Object) bool
	begin func(context.Context) error
}

// measure measures the work of a running contender.
func (b *Bench) measure(ctx context.Context, c contender.Contender, w work) (span, error) {
	ctx, cancel := context.WithTimeout(ctx, limit(w.count))
	defer cancel()
	seen, err := b.watch(ctx, w)
	if err != nil {
		return span{}, err
	}
	before, err := b.now(c)
	if err != nil {
		return span{}, err
	}
	start := time.Now()
	if err := w.begin(ctx); err != nil {
		return span{}, err
	}
	err = outcome(c, seen)
	wall := time.Since(start)
	if err != nil {
		return span{}, err
	}
	after, err := b.now(c)
	return span{wall, after.cpu - before.cpu, after.servers - before.servers}, err
}

// outcome waits for the result of watch, or for the contender to exit.
func outcome(c contender.Contender, seen <-chan error) error {
	select {
	case err := <-seen:
		if err != nil && !errors.Is(err, context.Canceled) {
			err = fmt.Errorf("%w; %s", err, c.Process().Account())
		}
		return err
	case <-c.Process().Exited():
		return c.Process().Ended()
	}
}

// flawless returns an error if the floor failed at anything, because retries would distort the comparison.
func flawless(c contender.Contender) error {
	if c.Name() != contender.FloorName {
		return nil
	}
	failures, err := c.Process().Lines(floor.Failed)
	if err == nil && len(failures) > 0 {
		err = fmt.Errorf("it has failed %d times, first: %s", len(failures), failures[0])
	}
	return err
}

// rest waits until a contender is quiet.
func rest(ctx context.Context, c contender.Contender) (since time.Time, err error) {
	const limit = 10 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	since, err = atRest.Await(ctx, c.Process().PID())
	if ended := c.Process().Ended(); ended != nil {
		return since, ended
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the %s is still busy after %s: %w", c.Name(), limit, err)
	}
	return since, err
}

// now is the usage so far.
func (b *Bench) now(c contender.Contender) (span, error) {
	var now span
	var err error
	if now.cpu, err = c.Process().CPU(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return span{}, err
	}
	now.servers, err = b.Bed.ServerCPU()
	return now, err
}

// watch sends nil once all objects of the work have been observed as done, or else the error.
func (b *Bench) watch(ctx context.Context, w work) (<-chan error, error) {
	version, err := b.Bed.Observer.Version(ctx, w.set)
	if err != nil {
		return nil, err
	}
	seen := make(chan error, 1)
	done := make(map[string]bool, w.count)
	go func() {
		err := b.Bed.Observer.Watch(ctx, w.set, version, func(o *observe.Object) bool {
			if w.done(o) {
				done[o.Metadata.UID] = true
			}
			return len(done) < w.count
		})
		if err == nil && len(done) < w.count {
			err = fmt.Errorf("only %d of %d %s are done after %s", len(done), w.count, w.set.Resource.Resource, limit(w.count))
			if errors.Is(ctx.Err(), context.Canceled) {
				err = ctx.Err()
			}
		}
		seen <- err
	}()
	return seen, nil
}

// stamps records when each object was first observed, by name.
type stamps struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

func (s *stamps) add(name string) (count int) {
	at := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]time.Time{}
	}
	if _, ok := s.seen[name]; !ok {
		s.seen[name] = at
	}
	return len(s.seen)
}

func (s *stamps) get(name string) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.seen[name]
	return at, ok
}
