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

// WriteTable writes a row for each figure, and the notes.
func (r *Report) WriteTable(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SCENARIO\tMEASURE\tFLOOR\tTEMPLATER\tRATIO\tTARGET\t")
	for _, f := range r.Figures {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			f.Scenario, f.measure(), spread(f.Floor), spread(f.Templater), f.ratio(), f.Target, f.verdict())
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

// String names the bound: "≤ 1.5 ×" for a ratio, "≤ 4096" for a value, "" for no target.
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

// spread is the median, with the least and the largest value if there are several.
func spread(values []float64) string {
	switch len(values) {
	case 0:
		return "-"
	case 1:
		return short(values[0])
	}
	return fmt.Sprintf("%s (%s–%s)", short(stats.Median(values)), short(slices.Min(values)), short(slices.Max(values)))
}

// ratio is that of the medians, with the least and the largest of a round if there are several.
func (f *Figure) ratio() string {
	if number(f.Ratio()) == nil {
		return "-"
	}
	text := fmt.Sprintf("%.2f ×", f.Ratio())
	if rounds := f.RoundRatios(); len(rounds) > 1 {
		text += fmt.Sprintf(" (%.2f–%.2f)", slices.Min(rounds), slices.Max(rounds))
	}
	return text
}

// short is a number with three digits that count, and all of those before the point.
func short(value float64) string {
	if size := math.Abs(value); size >= 100 || size == 0 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}
