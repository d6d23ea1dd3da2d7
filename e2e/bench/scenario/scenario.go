// Package scenario implements the scenarios: each is a function that adds its figures to the report.
package scenario

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/templater-dev/templater/e2e/bench/bed"
	"github.com/templater-dev/templater/e2e/bench/contender"
	"github.com/templater-dev/templater/e2e/bench/report"
	"github.com/templater-dev/templater/e2e/bench/workload"
)

// Options control how much is measured.
type Options struct {
	Rounds          int
	Scale           float64 // factor for the numbers of parents; 1 is all
	FloorWorkers    int     // 0 means the result of a calibration
	MemorySizes     []int
	SettleTime      time.Duration // pause before the memory of a contender is read
	IdleTime        time.Duration // period over which idle CPU is measured
	FairnessParents int
}

// Bench is a run. Its scenarios run sequentially.
type Bench struct {
	Options
	Bed    *bed.Bed
	Binary string // the operator
	Dir    string // for logs
	Report *report.Report
}

// Scenario is one thing to measure.
type Scenario struct {
	Name, About string
	// Default includes the scenario unless others are requested.
	Default bool
	// Workers is true if the floor's number of workers matters.
	Workers bool
	run     func(*Bench, context.Context) error
}

// All are the scenarios in execution order.
var All = []Scenario{
	{"configmap", "2,000 parents with one ConfigMap each", true, true, (*Bench).configMap},
	{"update", "then all 2,000 parents change, and so do their ConfigMaps", true, true, (*Bench).update},
	{"pod", "2,000 parents with one Pod each, whose phase the status follows", true, true, (*Bench).pod},
	{"ten", "200 parents with ten ConfigMaps each", true, true, (*Bench).ten},
	{"latency", "50 new parents a second for 20 s", true, true, (*Bench).latency},
	{"first", "the first 100 parents, at once", false, true, (*Bench).first},
	{"restart", "a new process where 5,000 parents are in order", false, false, (*Bench).restart},
	{"requests", "requests for one parent, in the audit log", true, false, (*Bench).requests},
	{"memory", "resident memory for 1,000, 10,000 and 50,000 parents, and idle CPU", false, false, (*Bench).memory},
	{"controllers", "500 TemplateControllers on 50 kinds", false, false, (*Bench).controllers},
	{"fairness", "a new parent of one TemplateController while 20,000 of another change", false, false, (*Bench).fairness},
}

// Select returns the scenarios with these names, in execution order. "default" and "all" select several.
func Select(names []string) ([]Scenario, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var selected []Scenario
	known := []string{"all", "default"}
	for _, s := range All {
		known = append(known, s.Name)
		if wanted["all"] || wanted[s.Name] || wanted["default"] && s.Default {
			selected = append(selected, s)
		}
		delete(wanted, s.Name)
	}
	delete(wanted, "all")
	delete(wanted, "default")
	for name := range wanted {
		return nil, fmt.Errorf("--scenarios: there is no %q; give some of %s", name, strings.Join(known, ", "))
	}
	return selected, nil
}

// Run measures a scenario.
func (b *Bench) Run(ctx context.Context, s Scenario) error {
	b.Bed.Say("== %s: %s", s.Name, s.About)
	if s.Workers && b.FloorWorkers == 0 {
		if err := b.calibrate(ctx); err != nil {
			return fmt.Errorf("calibrate the floor: %w", err)
		}
	}
	if err := s.run(b, ctx); err != nil {
		return fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return nil
}

// scaled is n times the scale, at least 1.
func (b *Bench) scaled(n int) int { return max(1, int(math.Round(float64(n)*b.Scale))) }

// contenders returns both contenders with the same task. Each round reverses their order, so that neither benefits from
// it.
func (b *Bench) contenders(task workload.Task, round int) []contender.Contender {
	both := []contender.Contender{contender.Floor(b.options(task)), contender.Operator(b.options(task))}
	if round%2 == 1 {
		slices.Reverse(both)
	}
	return both
}

func (b *Bench) options(task workload.Task) contender.Options {
	workers := b.FloorWorkers
	if workers == 0 {
		workers = usualWorkers // irrelevant in this scenario
	}
	return contender.Options{Bed: b.Bed, Task: task, Dir: b.Dir, Binary: b.Binary, Workers: workers}
}

// add adds one value of a contender to a figure.
func (b *Bench) add(c contender.Contender, f report.Figure, value float64) {
	switch c.Name() {
	case contender.FloorName:
		f.Floor = []float64{value}
	case contender.CheapestName:
		f.Cheapest = []float64{value}
	default:
		f.Templater = []float64{value}
	}
	b.Report.Add(f)
}

// needsAudit reports whether requests can be counted, and adds a note if not.
func (b *Bench) needsAudit(what string) bool {
	if b.Bed.Cluster == nil {
		b.Report.Note("%s left out: requests are counted in the audit log, which the cluster of --kubeconfig does not give", what)
		return false
	}
	return true
}
