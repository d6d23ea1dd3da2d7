// Package report holds what a run has measured, judges it, and writes it as a
// table for people and as JSON for programs.
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

// Report is what a run has measured.
type Report struct {
	Date     time.Time         `json:"date"`
	Machine  Machine           `json:"machine"`
	Versions map[string]string `json:"versions"`
	Settings map[string]any    `json:"settings"`
	Figures  []*Figure         `json:"figures"`
	// Notes say what was left out, and why, and what was odd.
	Notes []string `json:"notes,omitempty"`
}

// Figure is one thing that was measured, one value for each round.
type Figure struct {
	Scenario  string    `json:"scenario"`
	Measure   string    `json:"measure"`
	Unit      string    `json:"unit"`
	Floor     []float64 `json:"floor,omitempty"` // none where there is nothing to compare with
	Templater []float64 `json:"templater"`
	// Target is nil for a figure that only informs.
	Target *Target `json:"target,omitempty"`
}

// Target is what a median, or the ratio of the medians, has to keep.
type Target struct {
	// Ratio is whether it is about templater's median divided by the floor's, and
	// not about templater's median itself.
	Ratio bool `json:"ratio"`
	// AtLeast and AtMost are the bounds; nil means none.
	AtLeast *float64 `json:"atLeast,omitempty"`
	AtMost  *float64 `json:"atMost,omitempty"`
}

// RatioAtLeast is a target for what is better when it is more.
func RatioAtLeast(bound float64) *Target { return &Target{Ratio: true, AtLeast: &bound} }

// RatioAtMost is a target for what is better when it is less.
func RatioAtMost(bound float64) *Target { return &Target{Ratio: true, AtMost: &bound} }

// AtMost is a target for templater alone.
func AtMost(bound float64) *Target { return &Target{AtMost: &bound} }

// Exactly is a target for what is counted.
func Exactly(bound float64) *Target { return &Target{AtLeast: &bound, AtMost: &bound} }

// Add adds values to a figure, which is added to the report when it is new. What is no
// number is left out, for JSON has no way to write it.
func (r *Report) Add(f Figure) {
	f.Floor, f.Templater = numbers(f.Floor), numbers(f.Templater)
	i := slices.IndexFunc(r.Figures, func(g *Figure) bool { return g.Scenario == f.Scenario && g.Measure == f.Measure })
	if i < 0 {
		r.Figures = append(r.Figures, &f)
		return
	}
	old := r.Figures[i]
	old.Floor = append(old.Floor, f.Floor...)
	old.Templater = append(old.Templater, f.Templater...)
}

// Note adds a note, unless it is there.
func (r *Report) Note(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(r.Notes, note) {
		r.Notes = append(r.Notes, note)
	}
}

// KeepCounts drops the figures that are not counted: times and sizes say something about many parents
// only.
func (r *Report) KeepCounts() {
	all := len(r.Figures)
	r.Figures = slices.DeleteFunc(r.Figures, func(f *Figure) bool { return !f.Target.exact() })
	r.Note("%d figures of times and sizes are neither judged nor shown", all-len(r.Figures))
}

// exact reports whether the target is one number.
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

// Ratio is templater's median divided by the floor's; NaN where one is missing.
func (f *Figure) Ratio() float64 { return stats.Median(f.Templater) / stats.Median(f.Floor) }

// RoundRatios are templater's values divided by the floor's of the same round; nil
// where not every round has both, and where one of them is no number.
func (f *Figure) RoundRatios() []float64 {
	if len(f.Floor) != len(f.Templater) {
		return nil
	}
	var ratios []float64
	for i, value := range f.Templater {
		ratio := value / f.Floor[i]
		if number(ratio) == nil {
			return nil
		}
		ratios = append(ratios, ratio)
	}
	return ratios
}

// Met reports whether the target is kept. A figure without values keeps none.
func (f *Figure) Met() bool {
	if f.Target == nil {
		return true
	}
	value := stats.Median(f.Templater)
	if f.Target.Ratio {
		value = f.Ratio()
	}
	low, high := f.Target.AtLeast, f.Target.AtMost
	return !math.IsNaN(value) && (low == nil || value >= *low) && (high == nil || value <= *high)
}

// summary is what is derived from the values of a figure.
type summary struct {
	*Figure
	FloorMedian     *float64 `json:"floorMedian,omitempty"`
	TemplaterMedian *float64 `json:"templaterMedian,omitempty"`
	MedianRatio     *float64 `json:"medianRatio,omitempty"`
	// RoundRatio is the median of the ratios of the rounds.
	RoundRatio *float64 `json:"roundRatio,omitempty"`
	Met        *bool    `json:"met,omitempty"`
}

// number is nil for what JSON cannot hold.
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
		s := summary{Figure: f, FloorMedian: number(stats.Median(f.Floor)), TemplaterMedian: number(stats.Median(f.Templater)), MedianRatio: number(f.Ratio()), RoundRatio: number(stats.Median(f.RoundRatios()))}
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
