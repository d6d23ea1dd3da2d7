package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/templater-dev/templater/e2e/bench/contender"
	"github.com/templater-dev/templater/e2e/bench/stats"
)

// calibrationTries is the number of runs per number of workers.
const calibrationTries = 3

// calibrate finds the best number of workers for the floor on this machine.
func (b *Bench) calibrate(ctx context.Context) error {
	// The first run warms up the API server and does not count.
	if _, err := b.floorRate(ctx, usualWorkers); err != nil {
		return err
	}
	rates := map[int][]float64{}
	for range calibrationTries { // interleaved, so that changes over time affect all of them
		for _, workers := range []int{8, usualWorkers, 32} {
			rate, err := b.floorRate(ctx, workers)
			if err != nil {
				return err
			}
			rates[workers] = append(rates[workers], rate)
		}
	}
	medians := map[int]float64{}
	var found []string
	for _, workers := range slices.Sorted(maps.Keys(rates)) {
		medians[workers] = stats.Median(rates[workers])
		found = append(found, fmt.Sprintf("%d: %.0f", workers, medians[workers]))
	}
	b.FloorWorkers = bestWorkers(medians)
	b.Report.Settings["floorWorkers"] = b.FloorWorkers
	b.Report.Settings["floorRates"] = medians
	b.Report.Note("the floor has %d workers; parents/s with so many: %s", b.FloorWorkers, strings.Join(found, ", "))
	b.Bed.Say("the floor has %d workers; parents/s with so many: %s", b.FloorWorkers, strings.Join(found, ", "))
	return nil
}

// floorRate is the number of parents per second that the floor reconciles.
func (b *Bench) floorRate(ctx context.Context, workers int) (float64, error) {
	t := throughput{task: oneConfigMap, parents: b.scaled(1000)}
	o := b.options(t.task)
	o.Workers = workers
	e := &entrant{Contender: contender.Floor(o), task: t.task}
	if err := b.round(ctx, t, e); err != nil {
		return 0, err
	}
	return float64(t.parents) / e.span.wall.Seconds(), b.Bed.Clear(ctx, t.task.Kind)
}

// usualWorkers is used unless another number is clearly better.
const usualWorkers = 16

// bestWorkers is the number of workers with the highest rate, or usualWorkers if that is within 5 % of it.
func bestWorkers(rates map[int]float64) int {
	best := usualWorkers
	for _, workers := range slices.Sorted(maps.Keys(rates)) {
		if rates[workers] > rates[best] {
			best = workers
		}
	}
	if rates[usualWorkers] >= 0.95*rates[best] {
		return usualWorkers
	}
	return best
}
