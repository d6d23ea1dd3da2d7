package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/audit"
)

const (
	// settleLimit is how long everything may take to be right. The garbage collector may
	// lose sight of the children of a new kind; then the operator deletes them after a minute.
	settleLimit = 3 * time.Minute
	// calm is for how long nothing may be written.
	calm = 2 * time.Second
	// recount is how long an operator may take to count parents after its start: another one may
	// have to take over, which takes 18 s, it counts for 30 s, and tells after 2 s.
	recount = 55 * time.Second
)

// settle waits until the cluster is as the model says and the operator is quiet, and then
// expects it to stay so. Things have been broken for that long, and what was
// tried in vain meanwhile may wait as long again until it is tried once more.
func (b *bed) settle(ctx context.Context, w *model.World, broken time.Duration) error {
	counts := false
	err := await(ctx, settleLimit+broken+broken/5, func() error {
		counts = b.operators.age() > recount
		return b.right(ctx, w, counts)
	})
	if err != nil {
		return err
	}
	if err := b.still(ctx, changes); err != nil {
		return err
	}
	if err := b.right(ctx, w, counts); err != nil {
		return err
	}
	return b.turns.check()
}

// rest waits until the parents are counted, too, and expects that then nothing at all is written.
func (b *bed) rest(ctx context.Context, w *model.World) error {
	if err := pause(ctx, recount-b.operators.age()); err != nil {
		return err
	}
	if err := await(ctx, settleLimit, func() error { return b.right(ctx, w, true) }); err != nil {
		return err
	}
	if err := b.still(ctx, anything); err != nil {
		return err
	}
	return b.right(ctx, w, true)
}

// still waits until the operator is quiet, and then expects it to stay so.
func (b *bed) still(ctx context.Context, counts func(audit.Event) bool) error {
	var quiet audit.Mark
	err := await(ctx, time.Minute, func() (err error) {
		quiet, err = b.quiet(ctx, counts)
		return err
	})
	if err != nil {
		return err
	}
	if err := pause(ctx, calm); err != nil {
		return err
	}
	written, err := b.writes(quiet, counts)
	if err != nil {
		return err
	}
	if len(written) > 0 {
		return fmt.Errorf("the operator writes after everything was right and quiet: %v", written)
	}
	return nil
}

// right compares the cluster with the model once.
func (b *bed) right(ctx context.Context, w *model.World, counts bool) error {
	if err := b.operators.failure(); err != nil {
		return err
	}
	if panicked, err := b.logged("panic in a pass"); err != nil || panicked {
		return errors.Join(err, errors.New("a pass has panicked, see the operator's log"))
	}
	f, err := b.look(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &checker{found: f, world: w, foreign: maps.Clone(b.foreign), counts: counts}
	return c.compare()
}

// quiet returns an error if the operator has written within the time that is called calm, else the
// present end of the audit log.
func (b *bed) quiet(ctx context.Context, counts func(audit.Event) bool) (audit.Mark, error) {
	since, err := b.cluster.Audit().Mark()
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, calm); err != nil {
		return 0, err
	}
	written, err := b.writes(since, counts)
	if err == nil && len(written) > 0 {
		err = fmt.Errorf("the operator is busy: %v", written)
	}
	if err != nil {
		return 0, err
	}
	return b.cluster.Audit().Mark()
}

// writes returns what the operators have changed since the mark, of what counts. What the server refused
// is no change: a conflict is looked at every 30 s.
func (b *bed) writes(since audit.Mark, counts func(audit.Event) bool) ([]audit.Event, error) {
	return b.cluster.Audit().Since(since, func(e audit.Event) bool {
		return strings.HasPrefix(e.User.Username, user) && !reads(e) && e.ResponseStatus.Code/100 == 2 && counts(e)
	})
}

// changes are the writes of parents and children. Counts follow later than the rest.
func changes(e audit.Event) bool {
	return anything(e) && (e.ObjectRef.Resource != "templatecontrollers" || e.ObjectRef.Subresource != "status")
}

// anything is what a quiet operator does not write. It renews its Lease all the time, and asks for
// its rights.
func anything(e audit.Event) bool {
	return e.ObjectRef.Resource != "leases" && e.ObjectRef.Resource != "events" && e.ObjectRef.APIGroup != "authorization.k8s.io"
}
