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
func (h *harness) settle(ctx context.Context, w *model.World, round *model.Round, broken time.Duration) error {
	e, began := expected{world: w, round: round}, time.Now()
	if err := h.settleBeside(ctx, e, broken); err != nil {
		return err
	}
	if err := h.becomeRight(ctx, &e, broken+time.Since(began)); err != nil {
		return err
	}
	if err := h.still(ctx, changes); err != nil {
		return err
	}
	if err := h.right(ctx, e); err != nil {
		return err
	}
	if err := h.leaks(ctx); err != nil {
		return err
	}
	if err := h.remember(ctx, e); err != nil {
		return err
	}
	h.mu.Lock()
	since := h.readied
	h.readied = nil
	h.mu.Unlock()
	return errors.Join(h.leadership.check(), h.order.check(since), h.waitedRightly(round))
}

// becomeRight waits until the cluster is as expected, including counts if they can be right by then.
func (h *harness) becomeRight(ctx context.Context, e *expected, broken time.Duration) error {
	began, last := time.Now(), error(nil)
	var uncounted time.Time // since when only counts have been wrong
	err := await(ctx, settleLimit+broken+broken/5, func() error {
		e.counts = h.operators.age() > recount
		err := h.right(ctx, *e)
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
		h.counting = max(h.counting, time.Since(uncounted))
	}
	if took := time.Since(began); err == nil && last != nil && took > tellAfter {
		fmt.Fprintf(h.out, "it took %.0fs to converge; last difference: %v\n", took.Seconds(), last)
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
func (h *harness) remember(ctx context.Context, e expected) error {
	c, err := h.compare(ctx, e)
	if err != nil {
		return err
	}
	before := h.before
	h.before = c.remember()
	return h.sweep(ctx, before, h.before)
}

// rest waits until the counts are right, too, and then expects no writes at all.
func (h *harness) rest(ctx context.Context, w *model.World) error {
	if err := pause(ctx, recount-h.operators.age()); err != nil {
		return err
	}
	e := expected{world: w, counts: true, rested: true}
	if err := await(ctx, settleLimit, func() error { return h.right(ctx, e) }); err != nil {
		return err
	}
	if err := h.still(ctx, anything); err != nil {
		return err
	}
	return h.right(ctx, e)
}

// right compares the cluster with the model once.
func (h *harness) right(ctx context.Context, e expected) error {
	if err := h.operators.failure(); err != nil {
		return err
	}
	if err := h.log.check(); err != nil {
		return err
	}
	c, err := h.compare(ctx, e)
	if err != nil {
		return err
	}
	err = c.compare()
	h.failing = c.failing
	return err
}

// compare returns a checker for the current state of the cluster.
func (h *harness) compare(ctx context.Context, e expected) (*checker, error) {
	f, err := h.look(ctx)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.foreign, func(_ model.ChildID, m mark) bool { return m.owner != "" && !f.hasParent(m.owner) })
	return &checker{found: f, world: e.world, round: e.round, beside: e.beside, before: h.before, foreign: maps.Clone(h.foreign), notes: maps.Clone(h.notes), failing: map[model.ParentID]bool{}, counts: e.counts, rested: e.rested}, nil
}
