package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/templater-dev/templater/internal/kube/watch"
)

var (
	watchCount  = desc("templater_watches", "Running watches.")
	watchAge    = desc("templater_watch_last_progress_age_seconds", "Seconds since the last list, start, event or bookmark of the watch.", "resource", "role", "watch")
	watchSynced = desc("templater_watch_synced", "Whether the watch has completed its initial list: 1 or 0.", "resource", "role", "watch")
)

var roles = map[watch.Role]string{
	watch.Parent: "parent", watch.Child: "child", watch.Related: "related", watch.Namespace: "namespace", watch.Definition: "crd", watch.Controller: "templatecontroller", watch.Seal: "seal", watch.Webhook: "webhook",
}

// watches collects watch metrics on each scrape.
type watches struct {
	states func() []watch.State
	now    func() time.Time
}

var _ prometheus.Collector = watches{}

// Describe implements prometheus.Collector.
func (w watches) Describe(out chan<- *prometheus.Desc) {
	out <- watchCount
	out <- watchAge
	out <- watchSynced
}

// Collect implements prometheus.Collector.
func (w watches) Collect(out chan<- prometheus.Metric) {
	type labels struct{ resource, role, watch string }
	states, now := w.states(), w.now()
	out <- prometheus.MustNewConstMetric(watchCount, prometheus.GaugeValue, float64(len(states)))
	seen := map[labels]bool{}
	for _, s := range states {
		l := labels{s.Want.Resource.GroupResource().String(), roles[s.Want.Role], s.Want.String()}
		if seen[l] {
			continue // a series must not exist twice, even if several Wants have the same labels
		}
		seen[l] = true
		out <- prometheus.MustNewConstMetric(watchAge, prometheus.GaugeValue, now.Sub(s.Progress).Seconds(), l.resource, l.role, l.watch)
		out <- prometheus.MustNewConstMetric(watchSynced, prometheus.GaugeValue, truth(s.Synced), l.resource, l.role, l.watch)
	}
}
