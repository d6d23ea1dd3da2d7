package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMeasurementMeetsTarget(t *testing.T) {
	for why, row := range map[string]struct {
		figure Figure
		want   bool
	}{
		"no target, nothing to miss":         {Figure{Templater: []float64{1}}, true},
		"as fast as the floor":               {Figure{Floor: []float64{100}, Templater: []float64{95}, Target: RatioAtLeast(0.95)}, true},
		"slower than the floor":              {Figure{Floor: []float64{100}, Templater: []float64{94}, Target: RatioAtLeast(0.95)}, false},
		"little more CPU":                    {Figure{Floor: []float64{2}, Templater: []float64{3}, Target: RatioAtMost(1.5)}, true},
		"too much CPU":                       {Figure{Floor: []float64{2}, Templater: []float64{3.1}, Target: RatioAtMost(1.5)}, false},
		"the median counts, not a bad round": {Figure{Floor: []float64{2, 2, 2}, Templater: []float64{2, 9, 2}, Target: RatioAtMost(1.5)}, true},
		"a bound of templater's own":         {Figure{Floor: []float64{1}, Templater: []float64{8}, Target: AtMost(8)}, true},
		"exactly so many":                    {Figure{Templater: []float64{2}, Target: Exactly(2)}, true},
		"fewer is wrong, too":                {Figure{Templater: []float64{1}, Target: Exactly(2)}, false},
		"a ratio to nothing is no success":   {Figure{Templater: []float64{1}, Target: RatioAtMost(2)}, false},
		"an unmeasured figure fails":         {Figure{Target: AtMost(2)}, false},
		"infinitely more is no success":      {Figure{Floor: []float64{0}, Templater: []float64{1}, Target: RatioAtMost(2)}, false},
		"zero divided by zero is not 1":      {Figure{Floor: []float64{0}, Templater: []float64{0}, Target: RatioAtMost(2)}, false},
	} {
		t.Run(why, func(t *testing.T) {
			if got := row.figure.Met(); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

func example() *Report {
	r := &Report{Date: time.Unix(0, 0).UTC(), Machine: Machine{CPUs: 2, OS: "linux", Arch: "amd64", Go: "go1"}}
	for _, value := range []float64{310, 290, 300} {
		r.Add(Figure{Scenario: "configmap", Measure: "throughput", Unit: "parents/s", Floor: []float64{value}, Target: RatioAtLeast(0.95)})
		r.Add(Figure{Scenario: "configmap", Measure: "throughput", Cheapest: []float64{value + 100}})
		r.Add(Figure{Scenario: "configmap", Measure: "throughput", Templater: []float64{value - 100}})
	}
	r.Add(Figure{Scenario: "configmap", Measure: "CPU", Unit: "ms/parent", Floor: []float64{0.98765}, Templater: []float64{1.25}, Target: RatioAtMost(1.5)})
	r.Add(Figure{Scenario: "requests", Measure: "on a resync", Templater: []float64{0}, Target: Exactly(0)})
	r.Add(Figure{Scenario: "memory", Measure: "RSS", Unit: "MiB", Templater: []float64{123.4}})
	r.Note("Pods were left out")
	r.Note("Pods were left out")
	return r
}

func TestTableShowsRatiosAndVerdicts(t *testing.T) {
	var out bytes.Buffer
	if err := example().WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
SCENARIO   MEASURE                CHEAPEST       FLOOR          TEMPLATER      / CHEAPEST          / FLOOR             TARGET    
configmap  throughput, parents/s  400 (390–410)  300 (290–310)  200 (190–210)  0.50 × (0.49–0.51)  0.67 × (0.66–0.68)  ≥ 0.95 ×  missed
configmap  CPU, ms/parent         -              0.988          1.25           -                   1.27 ×              ≤ 1.5 ×   ok
requests   on a resync            -              -              0              -                   -                   = 0       ok
memory     RSS, MiB               -              -              123            -                   -                             
note: Pods were left out
`, "\n")
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestFiguresBelowTarget(t *testing.T) {
	missed := example().Missed()
	if len(missed) != 1 || missed[0].Measure != "throughput" {
		t.Errorf("missed: %+v", missed)
	}
}

func TestJSONContainsRoundsAndVerdict(t *testing.T) {
	r := example()
	r.Add(Figure{Scenario: "latency", Measure: "p50", Templater: []float64{1}, Floor: []float64{0}}) // its ratio is infinite
	r.Add(Figure{Scenario: "latency", Measure: "p50", Templater: []float64{math.NaN()}, Floor: []float64{math.Inf(1)}})
	var out bytes.Buffer
	if err := r.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Machine map[string]any
		Figures []map[string]any
		Notes   []string
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"scenario": "configmap", "measure": "throughput", "unit": "parents/s",
		"floor": []any{310.0, 290.0, 300.0}, "templater": []any{210.0, 190.0, 200.0},
		"cheapest": []any{410.0, 390.0, 400.0}, "cheapestMedian": 400.0, "cheapestRatio": 0.5,
		"floorMedian": 300.0, "templaterMedian": 200.0, "medianRatio": 200.0 / 300, "roundRatio": 200.0 / 300, "met": false,
		"target": map[string]any{"ratio": true, "atLeast": 0.95},
	}
	if diff := cmp.Diff(want, got.Figures[0]); diff != "" {
		t.Errorf("figure (-want +got):\n%s", diff)
	}
	if got.Machine["cpus"] != 2.0 || len(got.Figures) != 5 || len(got.Notes) != 1 {
		t.Errorf("machine, figures or notes are missing: %s", out.String())
	}
}

func TestNumbersAreRoundedToThreeDigits(t *testing.T) {
	for want, value := range map[string]float64{"0": 0, "0.00123": 0.0012345, "1.5": 1.5, "12.3": 12.345, "1235": 1234.5678, "-3.14": -3.14159, "NaN": math.NaN()} {
		if got := short(value); got != want {
			t.Errorf("%v becomes %s, want %s", value, got, want)
		}
	}
}

func TestMachineFactsAreParsed(t *testing.T) {
	if got := value("processor\t: 0\nmodel name\t: Fast one\nmodel name\t: Other\n", "model name"); got != "Fast one" {
		t.Errorf("model is %q", got)
	}
	if got := kibibytes("16 kB"); got != 16<<10 {
		t.Errorf("16 kB are %d", got)
	}
	if got := load("1.25 0.50 0.10 1/99 4242\n"); got != 1.25 {
		t.Errorf("the load is %v", got)
	}
	if !(Machine{CPUs: 2, Load: 0.6}).Busy() || (Machine{CPUs: 2, Load: 0.4}).Busy() {
		t.Error("a machine is busy when more than a quarter of it was used before")
	}
	if m := ThisMachine(); m.CPUs < 1 || m.Go == "" {
		t.Errorf("this machine: %+v", m)
	}
}

func TestKeepCountsDropsTimesAndSizes(t *testing.T) {
	r := &Report{}
	r.Add(Figure{Measure: "requests", Templater: []float64{3}, Target: Exactly(2)})
	r.Add(Figure{Measure: "latency", Floor: []float64{1}, Templater: []float64{9}, Target: RatioAtMost(2)})
	r.Add(Figure{Measure: "memory", Templater: []float64{9}, Target: AtMost(1)})
	r.Add(Figure{Measure: "informs", Templater: []float64{1}})
	r.KeepCounts()
	var out bytes.Buffer
	if err := r.WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	if missed := r.Missed(); len(r.Figures) != 1 || len(missed) != 1 || missed[0].Measure != "requests" {
		t.Errorf("want the requests alone, which are missed:\n%s", out.Bytes())
	}
	if !strings.Contains(out.String(), "note: 3 figures of times and sizes are neither judged nor shown") {
		t.Errorf("the table does not list omitted figures:\n%s", out.Bytes())
	}
}

func TestPlotMemory(t *testing.T) {
	r := &Report{}
	if err := r.PlotMemory(io.Discard); err == nil || err.Error() != "--plot: there are no figures of scenario memory" {
		t.Errorf("without figures: %v", err)
	}
	for size, value := range map[string]float64{"1000": 40, "10000": 70} {
		for _, measure := range []string{Resident, StartupPeak} {
			r.Add(Figure{Scenario: "memory", Measure: measure + " at " + size, Floor: []float64{3 * value}, Templater: []float64{value}})
		}
	}
	var out bytes.Buffer
	if err := r.PlotMemory(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "bare informers, resident", "templater, peak of the start", "thousands of parents"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the plot does not contain %q", want)
		}
	}
}
