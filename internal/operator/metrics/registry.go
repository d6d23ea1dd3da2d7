package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/util/workqueue"

	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/version"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// Registry holds all metrics. It is safe for concurrent use.
type Registry struct {
	registry *prometheus.Registry
	meters   *meters
	queues   *queues
}

// New returns a registry, and registers the client-go metrics. Call it before creating clients.
func New() *Registry {
	register()
	r := &Registry{registry: prometheus.NewRegistry(), meters: newMeters(), queues: newQueues()}
	r.registry.MustRegister(r.meters, buildInfo(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.registry.MustRegister(r.queues.collectors()...)
	r.registry.MustRegister(clientGoCollectors()...)
	return r
}

// Meters returns the meters of TemplateControllers.
func (r *Registry) Meters() record.Meters { return r.meters }

// Queues returns the workqueue metrics.
func (r *Registry) Queues() workqueue.MetricsProvider { return r.queues }

// Watches registers metrics for the watches that states returns. now is the clock. Call it at most once.
func (r *Registry) Watches(states func() []watch.State, now func() time.Time) {
	r.registry.MustRegister(watches{states, now})
}

// Describe sends the descriptions of all metrics, see prometheus.Collector.
func (r *Registry) Describe(out chan<- *prometheus.Desc) { r.registry.Describe(out) }

// Handler returns the HTTP handler of /metrics.
func (r *Registry) Handler() http.Handler {
	return newReaders(promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{}))
}

// buildInfo returns the build info metric.
func buildInfo() prometheus.Collector {
	info := version.Get()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "templater_build_info", Help: "Build information of templater, always 1.",
		ConstLabels: prometheus.Labels{"version": info.Version, "revision": info.Commit, "goversion": info.Go},
	}, func() float64 { return 1 })
}
