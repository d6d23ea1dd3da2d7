package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/templater-dev/templater/e2e/bench/bed"
	"github.com/templater-dev/templater/e2e/bench/contender"
	"github.com/templater-dev/templater/e2e/bench/observe"
	"github.com/templater-dev/templater/e2e/bench/report"
	"github.com/templater-dev/templater/e2e/bench/stats"
	"github.com/templater-dev/templater/e2e/bench/workload"
)

// Parents of scenario latency come at this interval, and so many of them.
const (
	latencyInterval = 20 * time.Millisecond
	latencyParents  = 1000
)

func (b *Bench) latency(ctx context.Context) error {
	for round := range b.Rounds {
		for _, c := range b.contenders(oneConfigMap, round) {
			values, err := b.latencyRound(ctx, c, b.scaled(latencyParents))
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name(), err)
			}
			p50, p99 := stats.Percentile(values, 50), stats.Percentile(values, 99)
			b.Bed.Say("round %d of %d, %s: p50 %.1f ms, p99 %.1f ms", round+1, b.Rounds, c.Name(), p50, p99)
			b.add(c, report.Figure{Scenario: "latency", Measure: "p50", Unit: "ms", Target: report.RatioAtMost(1.3)}, p50)
			b.add(c, report.Figure{Scenario: "latency", Measure: "p99", Unit: "ms", Target: report.RatioAtMost(2)}, p99)
			if err := b.Bed.Clear(ctx, oneConfigMap.Kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// latencyRound returns how long it took, in ms, from the request that creates a
// parent until its child was seen.
func (b *Bench) latencyRound(ctx context.Context, c contender.Contender, count int) (values []float64, err error) {
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := b.warm(ctx, c, oneConfigMap); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit(count))
	defer cancel()
	children := &stamps{}
	seen, err := b.watch(ctx, work{set: bed.Children(oneConfigMap), count: count, done: func(o *observe.Object) bool {
		children.add(o.Metadata.Name)
		return true
	}})
	if err != nil {
		return nil, err
	}
	created, err := b.createSteadily(ctx, oneConfigMap.Kind, count)
	if err != nil {
		return nil, err
	}
	err = outcome(c, seen)
	for i, at := range created {
		if child, ok := children.get(oneConfigMap.ChildName(workload.ParentName(i), 0)); ok {
			values = append(values, child.Sub(at).Seconds()*1000)
		}
	}
	return values, errors.Join(err, flawless(c))
}

// firstParent is the one that warms a contender up.
const firstParent = "warm"

// warm starts a contender on a new task, with one parent that teaches it the kinds of children.
func (b *Bench) warm(ctx context.Context, c contender.Contender, task workload.Task) error {
	if err := c.Begin(ctx); err != nil {
		return err
	}
	_, err := b.measure(ctx, c, work{set: bed.Set(task.Kind), count: 1, done: inOrder(task, workload.Red), begin: func(ctx context.Context) error {
		return b.Bed.Create(ctx, task.Kind, firstParent)
	}})
	if err != nil {
		return err
	}
	return b.Bed.Settle(ctx)
}

// createSteadily creates parents at a steady pace, however long each takes, and
// returns when each request began.
func (b *Bench) createSteadily(ctx context.Context, kind string, count int) ([]time.Time, error) {
	created, errs := make([]time.Time, count), make([]error, count)
	ticker := time.NewTicker(latencyInterval)
	defer ticker.Stop()
	var creating sync.WaitGroup
	for i := range count {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
		creating.Go(func() {
			created[i] = time.Now()
			errs[i] = b.Bed.Create(ctx, kind, workload.ParentName(i))
		})
	}
	creating.Wait()
	return created, errors.Join(errs...)
}
