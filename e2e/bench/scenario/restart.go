package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/templater-dev/templater/e2e/bench/bed"
	"github.com/templater-dev/templater/e2e/bench/contender"
	"github.com/templater-dev/templater/e2e/bench/procstat"
	"github.com/templater-dev/templater/e2e/bench/report"
	"github.com/templater-dev/templater/e2e/bench/workload"
	"github.com/templater-dev/templater/e2e/cluster/audit"
)

// atRest defines a quiet contender.
var atRest = procstat.Quiet{Window: 500 * time.Millisecond, Ticks: 1}

func (b *Bench) restart(ctx context.Context) error {
	parents := b.scaled(5000)
	if err := b.populate(ctx, oneConfigMap, 0, parents); err != nil {
		return err
	}
	for round := range b.Rounds {
		for _, c := range b.contenders(oneConfigMap, round) {
			if err := b.restartRound(ctx, c); err != nil {
				return fmt.Errorf("%s: %w", c.Name(), err)
			}
		}
	}
	return b.Bed.Clear(ctx, oneConfigMap.Kind)
}

// populate creates parents and lets the operator create their children. The TemplateController is created with the
// first of them, and kept.
func (b *Bench) populate(ctx context.Context, task workload.Task, first, end int) (err error) {
	b.Bed.Say("preparing %d parents", end-first)
	c := contender.Operator(b.options(task))
	defer func() { err = errors.Join(err, c.Stop()) }()
	begin := c.Start
	if first == 0 {
		begin = c.Begin
	}
	if err := begin(ctx); err != nil {
		return err
	}
	_, err = b.measure(ctx, c, work{set: bed.Set(task.Kind), count: end - first, done: inOrder(task, workload.Red), begin: func(ctx context.Context) error {
		return b.Bed.Fill(ctx, task.Kind, first, end)
	}})
	return err
}

// restartRound measures a start with parents that are up to date.
func (b *Bench) restartRound(ctx context.Context, c contender.Contender) (err error) {
	if err := b.Bed.Settle(ctx); err != nil {
		return err
	}
	mark, err := b.mark()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	s, err := b.startUp(ctx, c)
	if err != nil {
		return err
	}
	b.Bed.Say("%s: works after %.2f s, quiet after %.2f s, %.2f s of CPU", c.Name(), s.works.Seconds(), s.quiet.Seconds(), s.cpu.Seconds())
	upToDate := s.quiet
	if c.Name() == contender.FloorName {
		upToDate = s.works // its informers have synced, and it has nothing else to do
	}
	b.add(c, report.Figure{Scenario: "restart", Measure: "start to up to date", Unit: "s", Target: report.RatioAtMost(2)}, upToDate.Seconds())
	b.add(c, report.Figure{Scenario: "restart", Measure: "start to quiet", Unit: "s"}, s.quiet.Seconds())
	b.add(c, report.Figure{Scenario: "restart", Measure: "CPU", Unit: "s"}, s.cpu.Seconds())
	return errors.Join(b.restartRequests(ctx, c, mark), flawless(c))
}

// restartRequests adds the requests of a contender, once it makes no more.
func (b *Bench) restartRequests(ctx context.Context, c contender.Contender, mark audit.Mark) error {
	if !b.needsAudit("requests of a restart") {
		return nil
	}
	events, err := b.silence(ctx, mark, 0)
	if err != nil {
		return err
	}
	b.Bed.Say("%s: requests of a restart: %s", c.Name(), tally(events))
	b.add(c, report.Figure{Scenario: "restart", Measure: "requests"}, float64(len(events)))
	b.add(c, report.Figure{Scenario: "restart", Measure: "requests other than list, watch, discovery", Target: report.Exactly(0)}, float64(len(beyondReading(events))))
	return nil
}

// mark is the current end of the audit log, if there is one.
func (b *Bench) mark() (audit.Mark, error) {
	if b.Bed.Cluster == nil {
		return 0, nil
	}
	return b.Bed.Cluster.Audit().Mark()
}

// start holds the times from the start of a process until it reported that it works and until it was quiet, and the CPU
// time used until then.
type start struct{ works, quiet, cpu time.Duration }

// startUp restarts a contender on a task that was begun before.
func (b *Bench) startUp(ctx context.Context, c contender.Contender) (start, error) {
	begin := time.Now()
	if err := c.Start(ctx); err != nil {
		return start{}, err
	}
	works := time.Since(begin)
	quiet, err := rest(ctx, c)
	if err != nil {
		return start{}, err
	}
	cpu, err := c.Process().CPU()
	return start{works, max(works, quiet.Sub(begin)), cpu}, err
}
