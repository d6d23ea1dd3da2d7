package metrics

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// Values of the labels result and verb.
var (
	outcomes = [record.Outcomes]string{
		record.Skipped: "skipped", record.Succeeded: "success", record.Waiting: "waiting", record.Failed: "failed", record.Panicked: "panic",
	}
	verbs   = [record.Verbs]string{record.Create: "create", record.Update: "update", record.Delete: "delete"}
	answers = [record.Answers]string{
		record.Accepted: "success", record.Conflict: "conflict", record.Forbidden: "forbidden", record.Rejected: "rejected", record.NoAnswer: "error",
	}
)

var (
	reconciliations = desc("templater_reconcile_total", "Reconciliations of parents, by result: success, waiting (for children or other objects), failed, panic, skipped.", "namespace", "controller", "result")
	writes          = desc("templater_child_writes_total", "Requests that create, update or delete a child, by result: success, conflict, forbidden, rejected, error.", "namespace", "controller", "verb", "result")
	parents         = desc("templater_parents", "Parents by state: ready, failed (reconciliation error or failed child), waiting (for children or other objects), suspended.", "namespace", "controller", "state")
	templateErrors  = desc("templater_template_errors_total", "Reconciliations in which a template failed.", "namespace", "controller")
	loops           = desc("templater_loops_detected_total", "Parents put into backoff because they were hot-looping: every reconciliation caused another write.", "namespace", "controller")
	ready           = desc("templater_templatecontroller_ready", "Whether the TemplateController is Ready: 1 or 0.", "namespace", "controller")
	halted          = desc("templater_templatecontroller_rollout_halted", "Whether the rollout of the newest revision is halted: 1 or 0.", "namespace", "controller")
	rejected        = desc("templater_templatecontroller_revision_rejected", "Whether the newest revision is rejected by validation or preflight, while the previous one runs: 1 or 0.", "namespace", "controller")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// durationBuckets are the upper bounds of reconciliation durations, in seconds. A reconciliation without changes is
// faster than the first.
var durationBuckets = []float64{0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

// meters holds the meters of all TemplateControllers.
type meters struct {
	durations *prometheus.HistogramVec

	mu   sync.RWMutex
	each map[string]*meter
}

var (
	_ record.Meters        = (*meters)(nil)
	_ record.Meter         = (*meter)(nil)
	_ prometheus.Collector = (*meters)(nil)
)

func newMeters() *meters {
	return &meters{each: map[string]*meter{}, durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "templater_reconcile_duration_seconds", Help: "Duration of parent reconciliations in seconds, excluding skipped ones.", Buckets: durationBuckets,
	}, []string{"namespace", "controller"})}
}

// Begin returns the meter of a new TemplateController.
func (m *meters) Begin(controller string) record.Meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	namespace, name := v1.SplitKey(controller)
	m.durations.DeleteLabelValues(namespace, name)
	begun := &meter{of: []string{namespace, name}, durations: m.durations.WithLabelValues(namespace, name)}
	m.each[controller] = begun
	return begun
}

// End drops the metrics of a TemplateController. Reconciliations that are still running are not counted.
func (m *meters) End(controller string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	namespace, name := v1.SplitKey(controller)
	m.durations.DeleteLabelValues(namespace, name)
	delete(m.each, controller)
}

// Describe implements prometheus.Collector.
func (m *meters) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{reconciliations, writes, parents, templateErrors, loops, ready, halted, rejected} {
		out <- d
	}
	m.durations.Describe(out)
}

// Collect implements prometheus.Collector.
func (m *meters) Collect(out chan<- prometheus.Metric) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	m.durations.Collect(out)
	for _, each := range m.each {
		each.collect(out)
	}
}

// meter records the metrics of one TemplateController.
type meter struct {
	of                                       []string // labels: namespace (empty for a TemplateController) and name
	reconciliations                          [record.Outcomes]atomic.Uint64
	durations                                prometheus.Observer
	writes                                   [record.Verbs][record.Answers]atomic.Uint64
	templateErrors, loops                    atomic.Uint64
	readyParents, failed, waiting, suspended atomic.Int64 // numbers of parents
	ready, halted, rejected                  atomic.Bool
}

func (m *meter) Reconciled(outcome record.Outcome, took time.Duration) {
	m.reconciliations[outcome].Add(1)
	if outcome != record.Skipped {
		m.durations.Observe(took.Seconds())
	}
}

func (m *meter) TemplateError() { m.templateErrors.Add(1) }

func (m *meter) Write(verb record.Verb, answer record.Response) { m.writes[verb][answer].Add(1) }

func (m *meter) Tripped() { m.loops.Add(1) }

func (m *meter) Parents(now v1.ParentCounts) {
	m.readyParents.Store(now.Ready)
	m.failed.Store(now.Failed)
	m.waiting.Store(now.Waiting)
	m.suspended.Store(now.Suspended)
}

func (m *meter) Ready(now bool) { m.ready.Store(now) }

func (m *meter) Rollout(isHalted, isRejected bool) {
	m.halted.Store(isHalted)
	m.rejected.Store(isRejected)
}

func (m *meter) collect(out chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n *atomic.Uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n.Load()), slices.Concat(m.of, labels)...)
	}
	gauge := func(d *prometheus.Desc, n float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, slices.Concat(m.of, labels)...)
	}
	for outcome := range m.reconciliations {
		count(reconciliations, &m.reconciliations[outcome], outcomes[outcome])
	}
	for verb := range m.writes {
		for answer := range m.writes[verb] {
			// A failure that never happens needs no series. Successes have one from the start, so that the first one
			// counts as an increase.
			if n := &m.writes[verb][answer]; n.Load() > 0 || record.Response(answer) == record.Accepted {
				count(writes, n, verbs[verb], answers[answer])
			}
		}
	}
	count(templateErrors, &m.templateErrors)
	count(loops, &m.loops)
	gauge(parents, float64(m.readyParents.Load()), "ready")
	gauge(parents, float64(m.failed.Load()), "failed")
	gauge(parents, float64(m.waiting.Load()), "waiting")
	gauge(parents, float64(m.suspended.Load()), "suspended")
	gauge(ready, truth(m.ready.Load()))
	gauge(halted, truth(m.halted.Load()))
	gauge(rejected, truth(m.rejected.Load()))
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
