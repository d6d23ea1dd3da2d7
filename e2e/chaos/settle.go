package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/audit"
)

const (
	// settleLimit is how long everything may take to be right. The garbage collector may
	// lose sight of the children of a new kind; then the operator deletes them after a minute.
	settleLimit = 3 * time.Minute
	// tellAfter is how long it may take to be right before it is told what came last.
	tellAfter = 30 * time.Second
	// calm is for how long nothing may be written.
	calm = 2 * time.Second
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
	return b.turns.check()
}

// becomeRight waits until the cluster is as expected, counts included if they can be right by then.
func (b *bed) becomeRight(ctx context.Context, e *expected, broken time.Duration) error {
	began, last := time.Now(), error(nil)
	err := await(ctx, settleLimit+broken+broken/5, func() error {
		e.counts = b.operators.age() > recount
		err := b.right(ctx, *e)
		if err != nil {
			last = err
		}
		return err
	})
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
	e := expected{world: w, counts: true}
	if err := await(ctx, settleLimit, func() error { return b.right(ctx, e) }); err != nil {
		return err
	}
	if err := b.still(ctx, anything); err != nil {
		return err
	}
	return b.right(ctx, e)
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
	if written = b.needless(written); len(written) > 0 {
		return fmt.Errorf("the operator writes after everything was right and quiet: %v", written)
	}
	return nil
}

// needless leaves out what may be written late: a parent that fails is tried again after a while, and what a fault
// had its status say besides goes then.
func (b *bed) needless(written []audit.Event) []audit.Event {
	late := map[string]bool{}
	for id := range b.failing {
		late[resourceOf(id.Kind).Resource+"/"+id.Namespace+"/"+id.Name] = true
	}
	return slices.DeleteFunc(written, func(e audit.Event) bool {
		parent := e.ObjectRef.Resource + "/" + e.ObjectRef.Namespace + "/" + e.ObjectRef.Name
		first := late[parent] && e.ObjectRef.Subresource == "status"
		if first {
			delete(late, parent)
		}
		return first
	})
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
	return &checker{found: f, world: e.world, round: e.round, beside: e.beside, before: b.before, foreign: maps.Clone(b.foreign), notes: maps.Clone(b.notes), failing: map[model.ParentID]bool{}, counts: e.counts}, nil
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
