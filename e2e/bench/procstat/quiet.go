package procstat

import (
	"context"
	"time"
)

// Quiet defines an idle process: its CPU time does not advance by more than Ticks within Window.
type Quiet struct {
	Window time.Duration
	Ticks  int
}

// sample is the CPU time of a process at a point in time.
type sample struct {
	at  time.Time
	cpu time.Duration
}

// Await watches the process until it is quiet, and returns the beginning of the quiet window.
func (q Quiet) Await(ctx context.Context, pid int) (time.Time, error) {
	const interval = 10 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var samples []sample
	for {
		cpu, err := CPU(pid)
		if err != nil {
			return time.Time{}, err
		}
		samples = append(samples, sample{time.Now(), cpu})
		if since, ok := q.since(samples); ok {
			return since, nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		case <-ticker.C:
		}
	}
}

// since returns the time of the first sample that is followed by a quiet window.
func (q Quiet) since(samples []sample) (time.Time, bool) {
	last := samples[len(samples)-1]
	for _, s := range samples {
		if last.at.Sub(s.at) < q.Window {
			return time.Time{}, false
		}
		if last.cpu-s.cpu <= time.Duration(q.Ticks)*Tick {
			return s.at, true
		}
	}
	return time.Time{}, false
}
