package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/templater-dev/templater/e2e/bench/contender"
	"github.com/templater-dev/templater/e2e/bench/report"
	"github.com/templater-dev/templater/e2e/bench/workload"
)

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

// requestsOf counts requests in the life of one parent. Another one has taught the
// operator the kind of the children before.
func (b *Bench) requestsOf(ctx context.Context, task workload.Task) (err error) {
	c := contender.Operator(b.options(task))
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := b.warm(ctx, c, task); err != nil {
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
		{"changed parent", each, func() error { return b.Bed.Paint(ctx, task.Kind, 1, workload.Blue) }},
		{"resyncs", 0, func() error { return b.resyncs(ctx, task) }},
		{"deleted parent", 0, func() error { return b.Bed.Delete(ctx, task.Kind, name) }},
	} {
		if err := b.countRequests(ctx, c, report.Figure{
			Scenario: "requests", Measure: fmt.Sprintf("%s, %d children", step.what, task.Children), Target: report.Exactly(step.want),
		}, step.do); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// countRequests counts the requests that something leads to.
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
	events, err := b.silence(ctx, mark)
	if err != nil {
		return err
	}
	b.Bed.Say("%s: %s", f.Measure, tally(events))
	b.add(c, f, float64(len(events)))
	return nil
}

// resyncs makes the operator look at everything several times, and waits for that.
func (b *Bench) resyncs(ctx context.Context, task workload.Task) error {
	if err := b.Bed.PatchController(ctx, task.Name, map[string]any{"resyncPeriod": "500ms"}); err != nil {
		return err
	}
	if err := b.Bed.AwaitController(ctx, task.Name); err != nil {
		return err
	}
	return pause(ctx, 3*time.Second)
}

// pause waits, for what leaves no trace that one could wait for.
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
