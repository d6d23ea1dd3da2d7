// Package report collects the measurements of a run, evaluates them, and writes them as a table and as JSON.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/templater-dev/templater/e2e/bench/stats"
)

// Report holds the measurements of a run.
type Report struct {
	Date     time.Time         `json:"date"`
	Machine  Machine           `json:"machine"`
	Versions map[string]string `json:"versions"`
	Settings map[string]any    `json:"settings"`
	Figures  []*Figure         `json:"figures"`
	// Notes list what was skipped, with the reason, and anomalies.
	Notes []string `json:"notes,omitempty"`
}

// Figure is a measured quantity, with one value per round.
type Figure struct {
	Scenario  string    `json:"scenario"`
	Measure   string    `json:"measure"`
	Unit      string    `json:"unit"`
	Floor     []float64 `json:"floor,omitempty"`    // empty if there is nothing to compare with
	Cheapest  []float64 `json:"cheapest,omitempty"` // of the cheapest floor
	Templater []float64 `json:"templater"`
	// Target is nil for an informational figure.
	Target *Target `json:"target,omitempty"`
}

// Target is a bound on a median, or on the ratio of the medians.
type Target struct {
	// Ratio applies the bounds to templater's median divided by the floor's, instead of templater's median.
	Ratio bool `json:"ratio"`
	// AtLeast and AtMost are the bounds; nil means unbounded.
	AtLeast *float64 `json:"atLeast,omitempty"`
	AtMost  *float64 `json:"atMost,omitempty"`
}

// RatioAtLeast is a target for a figure where higher is better.
func RatioAtLeast(bound float64) *Target { return &Target{Ratio: true, AtLeast: &bound} }

// RatioAtMost is a target for a figure where lower is better.
func RatioAtMost(bound float64) *Target { return &Target{Ratio: true, AtMost: &bound} }

// AtMost is a target for templater alone.
func AtMost(bound float64) *Target { return &Target{AtMost: &bound} }

// Exactly is a target for a count.
func Exactly(bound float64) *Target { return &Target{AtLeast: &bound, AtMost: &bound} }

// Add appends values to a figure, and adds the figure to the report if it is new. NaN and infinite values are dropped,
// because JSON cannot represent them.
func (r *Report) Add(f Figure) {
	f.Floor, f.Cheapest, f.Templater = numbers(f.Floor), numbers(f.Cheapest), numbers(f.Templater)
	i := slices.IndexFunc(r.Figures, func(g *Figure) bool { return g.Scenario == f.Scenario && g.Measure == f.Measure })
	if i < 0 {
		r.Figures = append(r.Figures, &f)
		return
	}
	old := r.Figures[i]
	old.Floor = append(old.Floor, f.Floor...)
	old.Cheapest = append(old.Cheapest, f.Cheapest...)
	old.Templater = append(old.Templater, f.Templater...)
}

// Note adds a note, unless it exists.
func (r *Report) Note(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(r.Notes, note) {
		r.Notes = append(r.Notes, note)
	}
}

// KeepCounts drops figures that are not counts: times and sizes are meaningful for many parents only.
func (r *Report) KeepCounts() {
	all := len(r.Figures)
	r.Figures = slices.DeleteFunc(r.Figures, func(f *Figure) bool { return !f.Target.exact() })
	r.Note("%d figures of times and sizes are neither judged nor shown", all-len(r.Figures))
}

// exact reports whether the target is a single number.
func (t *Target) exact() bool {
	return t != nil && !t.Ratio && t.AtLeast != nil && t.AtMost != nil && *t.AtLeast == *t.AtMost
}

// Missed returns the figures whose target is missed.
func (r *Report) Missed() []*Figure {
	var missed []*Figure
	for _, f := range r.Figures {
		if f.Target != nil && !f.Met() {
			missed = append(missed, f)
		}
	}
	return missed
}

// Ratio is templater's median divided by that of a floor; NaN if one is missing.
func (f *Figure) Ratio(floor []float64) float64 {
	return stats.Median(f.Templater) / stats.Median(floor)
}

// RoundRatios are templater's values divided by those of a floor in the same round; nil if a round lacks one of them,
// or if a ratio is not a finite number.
func (f *Figure) RoundRatios(floor []float64) []float64 {
	if len(floor) != len(f.Templater) {
		return nil
	}
	var ratios []float64
	for i, value := range f.Templater {
		ratio := value / floor[i]
		if number(ratio) == nil {
			return nil
		}
		ratios = append(ratios, ratio)
	}
	return ratios
}

// Met reports whether the target is met. A figure without values meets none.
func (f *Figure) Met() bool {
	if f.Target == nil {
		return true
	}
	value := stats.Median(f.Templater)
	if f.Target.Ratio {
		value = f.Ratio(f.Floor)
	}
	low, high := f.Target.AtLeast, f.Target.AtMost
	return !math.IsNaN(value) && (low == nil || value >= *low) && (high == nil || value <= *high)
}

// summary is derived from the values of a figure.
type summary struct {
	*Figure
	FloorMedian     *float64 `json:"floorMedian,omitempty"`
	CheapestMedian  *float64 `json:"cheapestMedian,omitempty"`
	TemplaterMedian *float64 `json:"templaterMedian,omitempty"`
	MedianRatio     *float64 `json:"medianRatio,omitempty"`
	CheapestRatio   *float64 `json:"cheapestRatio,omitempty"`
	// RoundRatio is the median of the per-round ratios.
	RoundRatio *float64 `json:"roundRatio,omitempty"`
	Met        *bool    `json:"met,omitempty"`
}

// number is nil for values that JSON cannot represent.
func number(value float64) *float64 {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return nil
	}
	return &value
}

func numbers(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), func(value float64) bool { return number(value) == nil })
}

// WriteJSON writes everything, with the medians, ratios and verdicts.
func (r *Report) WriteJSON(out io.Writer) error {
	full := struct {
		*Report
		Figures []summary `json:"figures"`
	}{Report: r, Figures: []summary{}}
	for _, f := range r.Figures {
		s := summary{
			Figure: f, FloorMedian: number(stats.Median(f.Floor)), CheapestMedian: number(stats.Median(f.Cheapest)), TemplaterMedian: number(stats.Median(f.Templater)),
			MedianRatio: number(f.Ratio(f.Floor)), CheapestRatio: number(f.Ratio(f.Cheapest)), RoundRatio: number(stats.Median(f.RoundRatios(f.Floor))),
		}
		if f.Target != nil {
			met := f.Met()
			s.Met = &met
		}
		full.Figures = append(full.Figures, s)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(full)
}
