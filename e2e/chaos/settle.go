package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

const (
	// settleLimit is how long the cluster may take to match the model. The garbage collector may lose the children of a
	// new kind; then the operator deletes them after a minute.
	settleLimit = 3 * time.Minute
	// tellAfter is how long that may take before the last difference is reported.
	tellAfter = 30 * time.Second
	// recount is how long an operator may take to update its counts after a start: failover, if necessary, takes 18 s,
	// counting 30 s, and reporting 2 s.
	recount = 55 * time.Second
)

// settle waits until the cluster matches the model and the operator is quiet, and then expects it to stay so. broken is
// how long faults lasted; retries of failed requests may be delayed by as much again.
func (b *bed) settle(ctx context.Context, w *model.World, round *model.Round, broken time.Duration) error {
	e, began := expected{world: w, round: round}, time.Now()
	if err := b.settleBeside(ctx, e, broken); err != nil {
		return err
	}
	if err := b.becomeRight(ctx, &e, broken+time.Since(began)); err != nil {
		return err
	}
	if err := b.still(ctx, changes); err != nil {
		return err
	}
	if err := b.right(ctx, e); err != nil {
		return err
	}
	if err := b.leaks(ctx); err != nil {
		return err
	}
	if err := b.remember(ctx, e); err != nil {
		return err
	}
	b.mu.Lock()
	since := b.readied
	b.readied = nil
	b.mu.Unlock()
	return errors.Join(b.turns.check(), b.order.check(since), b.waitedRightly(round))
}

// becomeRight waits until the cluster is as expected, including counts if they can be right by then.
func (b *bed) becomeRight(ctx context.Context, e *expected, broken time.Duration) error {
	began, last := time.Now(), error(nil)
	var uncounted time.Time // since when only counts have been wrong
	err := await(ctx, settleLimit+broken+broken/5, func() error {
		e.counts = b.operators.age() > recount
		err := b.right(ctx, *e)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, errMiscounts):
			uncounted = time.Time{}
		case uncounted.IsZero():
			uncounted = time.Now()
		}
		last = err
		return err
	})
	if !uncounted.IsZero() {
		b.counting = max(b.counting, time.Since(uncounted))
	}
	if took := time.Since(began); err == nil && last != nil && took > tellAfter {
		fmt.Fprintf(b.out, "it took %.0fs to be right; the last that was not: %v\n", took.Seconds(), last)
	}
	return err
}

// expected is what the cluster is compared with.
type expected struct {
	world  *model.World
	round  *model.Round // since the last successful check; nil = none
	beside string       // the TemplateController to ignore; "" = none
	counts bool         // whether to compare the counts of parents
	rested bool         // whether conditions caused by faults must have disappeared, which takes 30 s for Events
}

// remember records the existing objects for the next comparison.
func (b *bed) remember(ctx context.Context, e expected) error {
	c, err := b.compare(ctx, e)
	if err != nil {
		return err
	}
	before := b.before
	b.before = c.remember()
	return b.sweep(ctx, before, b.before)
}

// rest waits until the counts are right, too, and then expects no writes at all.
func (b *bed) rest(ctx context.Context, w *model.World) error {
	if err := pause(ctx, recount-b.operators.age()); err != nil {
		return err
	}
	e := expected{world: w, counts: true, rested: true}
	if err := await(ctx, settleLimit, func() error { return b.right(ctx, e) }); err != nil {
		return err
	}
	if err := b.still(ctx, anything); err != nil {
		return err
	}
	return b.right(ctx, e)
}

// right compares the cluster with the model once.
func (b *bed) right(ctx context.Context, e expected) error {
	if err := b.operators.failure(); err != nil {
		return err
	}
	if err := b.log.check(); err != nil {
		return err
	}
	c, err := b.compare(ctx, e)
	if err != nil {
		return err
	}
	err = c.compare()
	b.failing = c.failing
	return err
}

// compare returns a checker for the current state of the cluster.
func (b *bed) compare(ctx context.Context, e expected) (*checker, error) {
	f, err := b.look(ctx)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.foreign, func(_ model.ChildID, m mark) bool { return m.owner != "" && !f.hasParent(m.owner) })
	return &checker{found: f, world: e.world, round: e.round, beside: e.beside, before: b.before, foreign: maps.Clone(b.foreign), notes: maps.Clone(b.notes), failing: map[model.ParentID]bool{}, counts: e.counts, rested: e.rested}, nil
}
