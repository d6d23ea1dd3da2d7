package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	// recount is how long an operator may take to count parents after its start.
	recount = 40 * time.Second
)

// settle waits until the cluster is as the model says and the operator is quiet, and then
// expects it to stay so.
func (b *bed) settle(ctx context.Context, w *model.World) error {
	if err := await(ctx, settleLimit, func() error { return b.right(ctx, w) }); err != nil {
		return err
	}
	var quiet audit.Mark
	err := await(ctx, time.Minute, func() (err error) {
		quiet, err = b.quiet(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if err := pause(ctx, calm); err != nil {
		return err
	}
	written, err := b.writes(quiet)
	if err != nil {
		return err
	}
	if len(written) > 0 {
		return fmt.Errorf("the operator writes after everything was right and quiet: %v", written)
	}
	return b.right(ctx, w)
}

// right compares the cluster with the model once.
func (b *bed) right(ctx context.Context, w *model.World) error {
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
	c := &checker{found: f, world: w, foreign: maps.Clone(b.foreign), counts: b.operators.age() > recount}
	return c.compare()
}

// quiet returns an error if the operator has written within the time that is called calm, else the
// present end of the audit log.
func (b *bed) quiet(ctx context.Context) (audit.Mark, error) {
	since, err := b.cluster.Audit().Mark()
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, calm); err != nil {
		return 0, err
	}
	written, err := b.writes(since)
	if err == nil && len(written) > 0 {
		err = fmt.Errorf("the operator is busy: %v", written)
	}
	if err != nil {
		return 0, err
	}
	return b.cluster.Audit().Mark()
}

// writes returns what the operator has changed since the mark. What the server refused is no
// change: a conflict is looked at every 30 s. Counts follow later than the rest.
func (b *bed) writes(since audit.Mark) ([]audit.Event, error) {
	return b.cluster.Audit().Since(since, func(e audit.Event) bool {
		aside := e.ObjectRef.Resource == "leases" || e.ObjectRef.Resource == "events" ||
			e.ObjectRef.Resource == "templatecontrollers" && e.ObjectRef.Subresource == "status"
		read := e.Verb == "get" || e.Verb == "list" || e.Verb == "watch"
		return e.User.Username == user && !aside && !read && e.ResponseStatus.Code/100 == 2
	})
}
