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
)

// overhead is the memory, in bytes, that a parent and its child may use beyond their size as JSON.
const overhead = 4 << 10

func (b *Bench) memory(ctx context.Context) error {
	before := map[string]int64{}
	for i, size := range b.MemorySizes {
		first := 0
		if i > 0 {
			first = b.MemorySizes[i-1]
		}
		if err := b.populate(ctx, oneConfigMap, first, size); err != nil {
			return err
		}
		pair, err := b.pairSize(ctx)
		if err != nil {
			return err
		}
		b.Report.Add(report.Figure{Scenario: "memory", Measure: fmt.Sprintf("JSON of a pair at %d", size), Unit: "bytes", Templater: []float64{pair}})
		for _, c := range b.contenders(oneConfigMap, i) {
			resident, err := b.memoryOf(ctx, c, size)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name(), err)
			}
			if i > 0 {
				b.add(c, report.Figure{
					Scenario: "memory", Measure: fmt.Sprintf("resident per pair, %d to %d", first, size), Unit: "bytes", Target: report.AtMost(pair + overhead),
				}, float64(resident-before[c.Name()])/float64(size-first))
			}
			before[c.Name()] = resident
		}
	}
	return b.Bed.Clear(ctx, oneConfigMap.Kind)
}

// pairSize is the mean size of a parent and its child as the API server delivers them.
func (b *Bench) pairSize(ctx context.Context) (float64, error) {
	const many = 500
	parents, err := b.Bed.Observer.Sizes(ctx, bed.Set(oneConfigMap.Kind), many)
	if err != nil {
		return 0, err
	}
	children, err := b.Bed.Observer.Sizes(ctx, bed.Children(oneConfigMap), many)
	return mean(parents) + mean(children), err
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, value := range values {
		sum += value
	}
	return sum / float64(max(1, len(values)))
}

// memoryOf returns the resident memory of a contender that was started with that many pairs, once it is quiet and the
// Go runtime has returned the memory that only startup needed. Meanwhile it measures idle CPU.
func (b *Bench) memoryOf(ctx context.Context, c contender.Contender, pairs int) (resident int64, err error) {
	defer func() { err = errors.Join(err, c.Stop()) }()
	if _, err := b.startUp(ctx, c); err != nil {
		return 0, err
	}
	pid := c.Process().PID()
	if err := pause(ctx, b.SettleTime); err != nil {
		return 0, err
	}
	idle, err := b.idle(ctx, c)
	if err != nil {
		return 0, err
	}
	memory, err := procstat.MemoryOf(pid)
	if err != nil {
		return 0, err
	}
	b.Bed.Say("%s over %d pairs: %d MiB, at most %d MiB, idle %.2f %% of a core", c.Name(), pairs, memory.Resident>>20, memory.Peak>>20, idle)
	figure := func(measure, unit string, target *report.Target) report.Figure {
		return report.Figure{Scenario: "memory", Measure: fmt.Sprintf("%s at %d", measure, pairs), Unit: unit, Target: target}
	}
	b.add(c, figure(report.Resident, "MiB", nil), float64(memory.Resident)/(1<<20))
	b.add(c, figure(report.StartupPeak, "MiB", nil), float64(memory.Peak)/(1<<20))
	b.add(c, figure("idle CPU", "% of a core", report.AtMost(1)), idle)
	return memory.Resident, nil
}

// idle is the CPU usage of an idle contender, in percent of a core.
func (b *Bench) idle(ctx context.Context, c contender.Contender) (float64, error) {
	before, err := c.Process().CPU()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := pause(ctx, b.IdleTime); err != nil {
		return 0, err
	}
	after, err := c.Process().CPU()
	return 100 * (after - before).Seconds() / time.Since(start).Seconds(), err
}
