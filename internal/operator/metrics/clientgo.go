package metrics

import (
	"context"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/leaderelection"
	clientgo "k8s.io/client-go/tools/metrics"
)

// Metrics reported by client-go. They are global to the process.
var (
	requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_requests_total", Help: "Requests to the API server, by status code, method and host. The code is <error> if there was no response.",
	}, []string{"code", "method", "host"})
	retries = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_request_retries_total", Help: "Requests retried by client-go, by status code of the previous response, method and host.",
	}, []string{"code", "method", "host"})
	latencies = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "rest_client_request_duration_seconds", Help: "Latency of requests to the API server in seconds, by method and host.",
		Buckets: []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60},
	}, []string{"verb", "host"})
	leader = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "leader_election_master_status", Help: "Whether this process holds the Lease: 1 or 0.",
	}, []string{"name"})
	slowpath = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "leader_election_slowpath_total", Help: "Lease renewals that had to read the Lease first.",
	}, []string{"name"})
)

// register registers the client-go metrics adapters. Call it before the first client or leader election is created.
// Only the first call has an effect.
func register() {
	clientgo.Register(clientgo.RegisterOpts{RequestLatency: latency{}, RequestResult: result{}, RequestRetry: retry{}})
	leaderelection.SetProvider(elections{})
}

func clientGoCollectors() []prometheus.Collector {
	return []prometheus.Collector{requests, retries, latencies, leader, slowpath}
}

type latency struct{}

// Observe drops the URL path to limit cardinality.
func (latency) Observe(_ context.Context, verb string, u url.URL, took time.Duration) {
	latencies.WithLabelValues(verb, u.Host).Observe(took.Seconds())
}

type result struct{}

func (result) Increment(_ context.Context, code, method, host string) {
	requests.WithLabelValues(code, method, host).Inc()
}

type retry struct{}

func (retry) IncrementRetry(_ context.Context, code, method, host string) {
	retries.WithLabelValues(code, method, host).Inc()
}

type elections struct{}

func (elections) NewLeaderMetric() leaderelection.LeaderMetric { return election{} }

type election struct{}

func (election) On(name string)                { leader.WithLabelValues(name).Set(1) }
func (election) Off(name string)               { leader.WithLabelValues(name).Set(0) }
func (election) SlowpathExercised(name string) { slowpath.WithLabelValues(name).Inc() }
