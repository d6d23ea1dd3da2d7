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
	// settleLimit is how long everything may take to be right. The garbage collector may
	// lose sight of the children of a new kind; then the operator deletes them after a minute.
	settleLimit = 3 * time.Minute
	// tellAfter is how long it may take to be right before it is told what came last.
	tellAfter = 30 * time.Second
	// recount is how long an operator may take to count parents after its start: another one may
	// have to take over, which takes 18 s, it counts for 30 s, and tells after 2 s.
	recount = 55 * time.Second
)

// settle waits until the cluster is as the model says and the operator is quiet, and then
// expects it to stay so. Things have been broken for that long, and what was
// tried in vain meanwhile may wait as long again until it is tried once more.
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

// becomeRight waits until the cluster is as expected, counts included if they can be right by then.
func (b *bed) becomeRight(ctx context.Context, e *expected, broken time.Duration) error {
	began, last := time.Now(), error(nil)
	var uncounted time.Time // since when nothing but counts is wrong
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
	round  *model.Round // since the last time that all was right; nil = none
	beside string       // the TemplateController that does not count; "" = all do
	counts bool         // whether the parents are to be counted right
	rested bool         // whether what faults had TemplateControllers say is to be gone, which takes 30 s for Events
}

// remember has the next comparison know which objects there are.
func (b *bed) remember(ctx context.Context, e expected) error {
	c, err := b.compare(ctx, e)
	if err != nil {
		return err
	}
	before := b.before
	b.before = c.remember()
	return b.sweep(ctx, before, b.before)
}

// rest waits until the parents are counted, too, and expects that then nothing at all is written.
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

// compare returns what compares the cluster as it is now.
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
