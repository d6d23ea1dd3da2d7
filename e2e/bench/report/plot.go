package report

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/templater-dev/templater/e2e/bench/stats"
)

// Names of the figures of scenario memory, without the number of parents, which follows " at ".
const (
	Resident    = "resident"
	StartupPeak = "peak of the start"
)

// PlotMemory writes the figures of scenario memory as SVG: MiB by thousands of parents.
func (r *Report) PlotMemory(out io.Writer) error {
	chart := plot.New()
	chart.X.Label.Text, chart.X.Min = "thousands of parents, each with a ConfigMap", 0
	chart.Y.Label.Text, chart.Y.Min = "resident memory, MiB", 0
	chart.Legend.Top, chart.Legend.Left = true, true
	chart.Add(plotter.NewGrid())
	lines := []any{}
	for _, measure := range []string{StartupPeak, Resident} {
		floor, templater, err := r.memoryBySize(measure)
		if err != nil {
			return err
		}
		if len(floor) > 0 {
			lines = append(lines, "bare informers, "+measure, floor)
		}
		lines = append(lines, "templater, "+measure, templater)
	}
	if err := plotutil.AddLinePoints(chart, lines...); err != nil {
		return err
	}
	canvas := vgsvg.New(16*vg.Centimeter, 10*vg.Centimeter)
	chart.Draw(draw.New(canvas))
	_, err := canvas.WriteTo(out)
	return err
}

// memoryBySize returns a measure of the floor and of templater as points (thousands of parents, MiB).
func (r *Report) memoryBySize(measure string) (floor, templater plotter.XYs, err error) {
	for _, f := range r.Figures {
		size, ok := strings.CutPrefix(f.Measure, measure+" at ")
		if f.Scenario != "memory" || !ok {
			continue
		}
		parents, err := strconv.Atoi(size)
		if err != nil {
			return nil, nil, fmt.Errorf("figure %q: %w", f.Measure, err)
		}
		at := float64(parents) / 1000
		templater = append(templater, plotter.XY{X: at, Y: stats.Median(f.Templater)})
		if len(f.Floor) > 0 {
			floor = append(floor, plotter.XY{X: at, Y: stats.Median(f.Floor)})
		}
	}
	if len(templater) == 0 {
		return nil, nil, errors.New("--plot: there are no figures of scenario memory")
	}
	return floor, templater, nil
}
