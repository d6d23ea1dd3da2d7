package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/templater-dev/templater/e2e/bench/stats"
)

// WriteTable writes one row per figure, and the notes.
func (r *Report) WriteTable(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SCENARIO\tMEASURE\tCHEAPEST\tFLOOR\tTEMPLATER\t/ CHEAPEST\t/ FLOOR\tTARGET\t")
	for _, f := range r.Figures {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			f.Scenario, f.measure(), spread(f.Cheapest), spread(f.Floor), spread(f.Templater), f.ratio(f.Cheapest), f.ratio(f.Floor), f.Target, f.verdict())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, note := range r.Notes {
		fmt.Fprintln(out, "note:", note)
	}
	return nil
}

func (f *Figure) measure() string {
	if f.Unit == "" {
		return f.Measure
	}
	return f.Measure + ", " + f.Unit
}

func (f *Figure) verdict() string {
	switch {
	case f.Target == nil:
		return ""
	case f.Met():
		return "ok"
	}
	return "missed"
}

// String formats the bound: "≤ 1.5 ×" for a ratio, "≤ 4096" for a value, "" for no target.
func (t *Target) String() string {
	if t == nil {
		return ""
	}
	unit := ""
	if t.Ratio {
		unit = " ×"
	}
	switch {
	case t.AtLeast != nil && t.AtMost != nil:
		return "= " + short(*t.AtMost) + unit
	case t.AtLeast != nil:
		return "≥ " + short(*t.AtLeast) + unit
	}
	return "≤ " + short(*t.AtMost) + unit
}

// spread is the median, with the minimum and maximum if there are several values.
func spread(values []float64) string {
	switch len(values) {
	case 0:
		return "-"
	case 1:
		return short(values[0])
	}
	return fmt.Sprintf("%s (%s–%s)", short(stats.Median(values)), short(slices.Min(values)), short(slices.Max(values)))
}

// ratio is the ratio of the medians, with the minimum and maximum of the rounds if there are several.
func (f *Figure) ratio(floor []float64) string {
	if number(f.Ratio(floor)) == nil {
		return "-"
	}
	text := fmt.Sprintf("%.2f ×", f.Ratio(floor))
	if rounds := f.RoundRatios(floor); len(rounds) > 1 {
		text += fmt.Sprintf(" (%.2f–%.2f)", slices.Min(rounds), slices.Max(rounds))
	}
	return text
}

// short formats a number with three significant digits, and at least all digits before the point.
func short(value float64) string {
	if size := math.Abs(value); size >= 100 || size == 0 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}
