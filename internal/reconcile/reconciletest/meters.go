package reconciletest

import (
	"fmt"
	"sync"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// Meters remember what is counted.
type Meters struct {
	mu    sync.Mutex
	Each  map[string]*Meter // by TemplateController
	Ended []string          // the TemplateControllers that are deleted
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

// Meter remembers what is counted of a TemplateController.
type Meter struct {
	mu           sync.Mutex
	Counts       map[string]int // by "pass OUTCOME", "template error", "write VERB ANSWER" and "trip"
	ParentCounts v1.ParentCounts
	IsReady      bool
}

func (m *Meter) add(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Counts[what]++
}

// Pass counts a reconciliation.
func (m *Meter) Pass(outcome record.Outcome, _ time.Duration) { m.add(fmt.Sprint("pass ", outcome)) }

// TemplateError counts an error of a template.
func (m *Meter) TemplateError() { m.add("template error") }

// Write counts a write.
func (m *Meter) Write(verb record.Verb, answer record.Answer) {
	m.add(fmt.Sprint("write ", verb, " ", answer))
}

// Tripped counts that the circuit breaker opens.
func (m *Meter) Tripped() { m.add("trip") }

// Parents remembers the counts of parents.
func (m *Meter) Parents(now v1.ParentCounts) { m.ParentCounts = now }

// Ready remembers whether the TemplateController is ready.
func (m *Meter) Ready(now bool) { m.IsReady = now }
