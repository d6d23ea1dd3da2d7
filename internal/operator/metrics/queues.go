package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// queueBuckets are the upper bounds of durations in queues, in seconds. The bound 60 is needed by the alert
// TemplaterBehind: without it, Prometheus would interpolate between 10 and 300.
var queueBuckets = []float64{0.0001, 0.001, 0.01, 0.1, 1, 10, 60, 300, 1000}

// queues provides workqueue metrics with the metric names of Kubernetes controllers.
type queues struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, work              *prometheus.HistogramVec
}

var _ workqueue.MetricsProvider = (*queues)(nil)

func newQueues() *queues {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"name"})
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"name"})
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: queueBuckets}, []string{"name"})
	}
	return &queues{
		depth:      gauge("workqueue_depth", "Current depth of the queue."),
		adds:       counter("workqueue_adds_total", "Items added to the queue."),
		latency:    histogram("workqueue_queue_duration_seconds", "How long items wait in the queue, in seconds."),
		work:       histogram("workqueue_work_duration_seconds", "How long processing an item takes, in seconds."),
		unfinished: gauge("workqueue_unfinished_work_seconds", "Total duration of the work in progress so far, in seconds."),
		longest:    gauge("workqueue_longest_running_processor_seconds", "Duration of the oldest work in progress so far, in seconds."),
		retries:    counter("workqueue_retries_total", "Items added to the queue with a delay, including retries and resyncs."),
	}
}

func (q *queues) collectors() []prometheus.Collector {
	return []prometheus.Collector{q.depth, q.adds, q.latency, q.work, q.unfinished, q.longest, q.retries}
}

func (q *queues) NewDepthMetric(name string) workqueue.GaugeMetric {
	return q.depth.WithLabelValues(name)
}

func (q *queues) NewAddsMetric(name string) workqueue.CounterMetric {
	return q.adds.WithLabelValues(name)
}

func (q *queues) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return q.latency.WithLabelValues(name)
}

func (q *queues) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return q.work.WithLabelValues(name)
}

func (q *queues) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.unfinished.WithLabelValues(name)
}

func (q *queues) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.longest.WithLabelValues(name)
}

func (q *queues) NewRetriesMetric(name string) workqueue.CounterMetric {
	return q.retries.WithLabelValues(name)
}
