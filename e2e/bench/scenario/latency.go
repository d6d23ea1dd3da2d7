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

// arrivals are parents that are created at a steady rate.
type arrivals struct {
	scenario string
	parents  int
	interval time.Duration
	begin    func(*Bench, context.Context, contender.Contender, workload.Task) error // starts the contender
}

func (b *Bench) latency(ctx context.Context) error {
	return b.arrive(ctx, arrivals{"latency", b.scaled(1000), 20 * time.Millisecond, (*Bench).warm})
}

func (b *Bench) first(ctx context.Context) error {
	return b.arrive(ctx, arrivals{"first", b.scaled(100), time.Millisecond, (*Bench).cold})
}

// arrive measures how long the children of arriving parents take.
func (b *Bench) arrive(ctx context.Context, a arrivals) error {
	for round := range b.Rounds {
		for _, c := range b.contenders(oneConfigMap, round) {
			values, err := b.arrivalRound(ctx, c, a)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name(), err)
			}
			p50, p99 := stats.Percentile(values, 50), stats.Percentile(values, 99)
			b.Bed.Say("round %d of %d, %s: p50 %.1f ms, p99 %.1f ms", round+1, b.Rounds, c.Name(), p50, p99)
			b.add(c, report.Figure{Scenario: a.scenario, Measure: "p50", Unit: "ms", Target: report.RatioAtMost(1.3)}, p50)
			b.add(c, report.Figure{Scenario: a.scenario, Measure: "p99", Unit: "ms", Target: report.RatioAtMost(2)}, p99)
			if err := b.Bed.Clear(ctx, oneConfigMap.Kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// arrivalRound returns the times, in ms, from the request that creates a parent until its child is observed.
func (b *Bench) arrivalRound(ctx context.Context, c contender.Contender, a arrivals) (values []float64, err error) {
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := a.begin(b, ctx, c, oneConfigMap); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit(a.parents))
	defer cancel()
	children := &stamps{}
	seen, err := b.watch(ctx, work{set: bed.Children(oneConfigMap), count: a.parents, done: func(o *observe.Object) bool {
		children.add(o.Metadata.Name)
		return true
	}})
	if err != nil {
		return nil, err
	}
	created, err := b.createSteadily(ctx, oneConfigMap.Kind, a)
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

// cold starts a contender on a new task without parents.
func (b *Bench) cold(ctx context.Context, c contender.Contender, _ workload.Task) error {
	if err := c.Begin(ctx); err != nil {
		return err
	}
	return b.Bed.Settle(ctx)
}

// firstParent warms up a contender.
const firstParent = "warm"

// warm starts a contender on a new task, with one parent to make it discover the child kinds.
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

// createSteadily creates parents at a fixed rate, regardless of how long each takes, and returns the start time of each
// request.
func (b *Bench) createSteadily(ctx context.Context, kind string, a arrivals) ([]time.Time, error) {
	created, errs := make([]time.Time, a.parents), make([]error, a.parents)
	ticker := time.NewTicker(a.interval)
	defer ticker.Stop()
	var creating sync.WaitGroup
	for i := range a.parents {
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
