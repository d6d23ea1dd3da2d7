package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/templater-dev/templater/e2e/bench/contender"
	"github.com/templater-dev/templater/e2e/bench/report"
	"github.com/templater-dev/templater/e2e/bench/workload"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// resyncLooks is the number of resyncs in scenario requests, with a resync interval of one second.
const resyncLooks = 4

func (b *Bench) requests(ctx context.Context) error {
	if !b.needsAudit("scenario requests") {
		return nil
	}
	for _, children := range []int{1, 10} {
		task := oneConfigMap
		task.Children = children
		if err := b.requestsOf(ctx, task); err != nil {
			return err
		}
		if err := b.Bed.Clear(ctx, task.Kind); err != nil {
			return err
		}
	}
	return nil
}

// requestsOf counts requests in the life of one parent. An earlier parent has made the operator discover the kind of
// the children.
func (b *Bench) requestsOf(ctx context.Context, task workload.Task) (err error) {
	o := b.options(task)
	o.Flags = []string{"--log-level", "debug"} // to count reconciliations
	c := contender.Operator(o)
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := b.warm(ctx, c, task); err != nil {
		return err
	}
	begin, err := b.mark()
	if err != nil {
		return err
	}
	name := workload.ParentName(0)
	each := float64(task.Children + 1)
	for _, step := range []struct {
		what string
		want float64
		do   func() error
	}{
		{"new parent", each, func() error { return b.Bed.Create(ctx, task.Kind, name) }},
		{"changed parent", each, func() error { return b.Bed.Paint(ctx, task.Kind, 0, 1, workload.Blue) }},
		{"resyncs", 0, func() error { return b.resyncs(ctx, c, task) }},
		{"deleted parent", 0, func() error { return b.remove(ctx, task, name) }},
	} {
		if err := b.countRequests(ctx, c, report.Figure{
			Scenario: "requests", Measure: fmt.Sprintf("%s, %d children", step.what, task.Children), Target: report.Exactly(step.want),
		}, step.do); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	events, err := b.announced(begin)
	b.add(c, report.Figure{
		Scenario: "requests", Measure: fmt.Sprintf("Events of all that, %d children", task.Children), Target: report.Exactly(0),
	}, float64(len(events)))
	return err
}

// remove deletes a parent, and waits until its children are deleted.
func (b *Bench) remove(ctx context.Context, task workload.Task, name string) error {
	if err := b.removeBeforeChildren(ctx, task, name); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return poll.Until(ctx, 50*time.Millisecond, func() error {
		children, err := b.Bed.ChildrenOf(ctx, task, name)
		if err == nil && len(children) > 0 {
			err = fmt.Errorf("children %v are still there though their parent is deleted", children)
		}
		return err
	})
}

// removeBeforeChildren deletes a parent, and holds the garbage collector until the operator has observed that. On a busy
// machine, the deletion of a child may arrive first, since another watch reports it: then the operator tries to recreate
// the child, or to report it in the status of the parent.
func (b *Bench) removeBeforeChildren(ctx context.Context, task workload.Task, name string) (err error) {
	if err := b.Bed.AwaitParents(ctx, task.Name, 2); err != nil { // with the first one
		return err
	}
	defer func() { err = errors.Join(err, b.Bed.ReleaseGarbageCollector()) }()
	if err := b.Bed.HoldGarbageCollector(); err != nil {
		return err
	}
	if err := b.Bed.Delete(ctx, task.Kind, name); err != nil {
		return err
	}
	return b.Bed.AwaitParents(ctx, task.Name, 1)
}

// countRequests counts the requests caused by do.
func (b *Bench) countRequests(ctx context.Context, c contender.Contender, f report.Figure, do func() error) error {
	if err := b.Bed.Settle(ctx); err != nil {
		return err
	}
	mark, err := b.mark()
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	least := 0
	if f.Target.AtLeast != nil {
		least = int(*f.Target.AtLeast)
	}
	events, err := b.silence(ctx, mark, least)
	if err != nil {
		return err
	}
	b.Bed.Say("%s: %s", f.Measure, tally(events))
	b.add(c, f, float64(len(events)))
	return nil
}

// resyncs makes the operator reconcile everything several times, and verifies that it did.
func (b *Bench) resyncs(ctx context.Context, c contender.Contender, task workload.Task) error {
	if err := b.Bed.PatchController(ctx, task.Name, map[string]any{"resyncPeriod": "1s"}); err != nil {
		return err
	}
	if err := b.Bed.AwaitController(ctx, task.Name); err != nil {
		return err
	}
	before, err := looks(c, workload.ParentName(0))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return poll.Until(ctx, 100*time.Millisecond, func() error {
		after, err := looks(c, workload.ParentName(0))
		if err == nil && after-before < resyncLooks {
			err = fmt.Errorf("the operator reconciled the parent %d times, want %d", after-before, resyncLooks)
		}
		return err
	})
}

// looks is the number of reconciliations of a parent that the operator has logged.
func looks(c contender.Contender, parent string) (int, error) {
	lines, err := c.Process().Lines(`"msg":"reconciled parent"`, fmt.Sprintf(`"parent":"%s/%s"`, workload.Namespace, parent))
	return len(lines), err
}

// pause waits a fixed time, for events that leave no trace to wait for.
func pause(ctx context.Context, long time.Duration) error {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
