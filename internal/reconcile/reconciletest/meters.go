package reconciletest

import (
	"fmt"
	"sync"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// Meters record all metrics.
type Meters struct {
	mu    sync.Mutex
	Each  map[string]*Meter // by TemplateController
	Ended []string          // deleted TemplateControllers
}

// NewMeters returns empty Meters.
func NewMeters() *Meters { return &Meters{Each: map[string]*Meter{}} }

// Begin returns the meter of a TemplateController.
func (m *Meters) Begin(controller string) record.Meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Each[controller] = &Meter{Counts: map[string]int{}}
	return m.Each[controller]
}

// End ends the meter of a TemplateController.
func (m *Meters) End(controller string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.Each, controller)
	m.Ended = append(m.Ended, controller)
}

// Meter records the metrics of a TemplateController.
type Meter struct {
	mu           sync.Mutex
	Counts       map[string]int // by "reconciliation OUTCOME", "template error", "write VERB ANSWER" and "trip"
	ParentCounts v1.ParentCounts
	IsReady      bool
	// Halted and Rejected are the state of the rollout.
	Halted, Rejected bool
}

func (m *Meter) add(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Counts[what]++
}

// Reconciled counts a reconciliation.
func (m *Meter) Reconciled(outcome record.Outcome, _ time.Duration) {
	m.add(fmt.Sprint("reconciliation ", outcome))
}

// TemplateError counts a template error.
func (m *Meter) TemplateError() { m.add("template error") }

// Write counts a write.
func (m *Meter) Write(verb record.Verb, answer record.Response) {
	m.add(fmt.Sprint("write ", verb, " ", answer))
}

// Tripped counts a circuit breaker trip.
func (m *Meter) Tripped() { m.add("trip") }

// Parents records the counts of parents.
func (m *Meter) Parents(now v1.ParentCounts) { m.ParentCounts = now }

// Ready records whether the TemplateController is ready.
func (m *Meter) Ready(now bool) { m.IsReady = now }

// Rollout records the state of the rollout.
func (m *Meter) Rollout(halted, rejected bool) { m.Halted, m.Rejected = halted, rejected }
