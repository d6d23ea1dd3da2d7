package scenario

import (
	"context"

	"github.com/templater-dev/templater/e2e/bench/contender"
)

// calibrate finds how many workers are best for the floor on this machine.
func (b *Bench) calibrate(ctx context.Context) error {
	t := throughput{task: oneConfigMap, parents: b.scaled(500)}
	best, most := 0, 0.0
	// The first turn warms the API server up and does not count.
	for i, workers := range []int{16, 4, 8, 16, 32} {
		o := b.options(t.task)
		o.Workers = workers
		s, err := b.round(ctx, contender.Floor(o), t)
		if err != nil {
			return err
		}
		if err := b.Bed.Clear(ctx, t.task.Kind); err != nil {
			return err
		}
		rate := float64(t.parents) / s.wall.Seconds()
		if i == 0 {
			continue
		}
		b.Bed.Say("the floor with %d workers: %.0f parents/s", workers, rate)
		if rate > most {
			best, most = workers, rate
		}
	}
	b.FloorWorkers = best
	b.Report.Settings["floorWorkers"] = best
	b.Bed.Say("the floor works with %d workers", best)
	return nil
}
