package metrics

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// compare compares all series of these names.
func compare(t *testing.T, c prometheus.Collector, want string, names ...string) {
	t.Helper()
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

func TestMeterCountsReconciliationsAndWrites(t *testing.T) {
	m := newMeters()
	meter := m.Begin("apps")
	meter.Reconciled(record.Succeeded, 10*time.Millisecond)
	meter.Reconciled(record.Failed, 10*time.Millisecond)
	meter.Reconciled(record.Failed, 2*time.Minute)
	meter.Reconciled(record.Skipped, time.Millisecond)
	meter.TemplateError()
	meter.Tripped()
	meter.Write(record.Create, record.Accepted)
	meter.Write(record.Create, record.Forbidden)
	meter.Write(record.Delete, record.NoAnswer)
	meter.Parents(v1.ParentCounts{Total: 9, Ready: 4, Failed: 2, Waiting: 1, Suspended: 2})
	meter.Ready(true)
	meter.Rollout(true, false)
	compare(t, m, `
# HELP templater_reconcile_total Reconciliations of parents, by result: success, waiting (for children or other objects), failed, panic, skipped.
# TYPE templater_reconcile_total counter
templater_reconcile_total{controller="apps",namespace="",result="failed"} 2
templater_reconcile_total{controller="apps",namespace="",result="panic"} 0
templater_reconcile_total{controller="apps",namespace="",result="skipped"} 1
templater_reconcile_total{controller="apps",namespace="",result="success"} 1
templater_reconcile_total{controller="apps",namespace="",result="waiting"} 0
# HELP templater_child_writes_total Requests that create, update or delete a child, by result: success, conflict, forbidden, rejected, error.
# TYPE templater_child_writes_total counter
templater_child_writes_total{controller="apps",namespace="",result="forbidden",verb="create"} 1
templater_child_writes_total{controller="apps",namespace="",result="success",verb="create"} 1
templater_child_writes_total{controller="apps",namespace="",result="error",verb="delete"} 1
templater_child_writes_total{controller="apps",namespace="",result="success",verb="delete"} 0
templater_child_writes_total{controller="apps",namespace="",result="success",verb="update"} 0
# HELP templater_parents Parents by state: ready, failed (reconciliation error or failed child), waiting (for children or other objects), suspended.
# TYPE templater_parents gauge
templater_parents{controller="apps",namespace="",state="failed"} 2
templater_parents{controller="apps",namespace="",state="ready"} 4
templater_parents{controller="apps",namespace="",state="suspended"} 2
templater_parents{controller="apps",namespace="",state="waiting"} 1
# HELP templater_template_errors_total Reconciliations in which a template failed.
# TYPE templater_template_errors_total counter
templater_template_errors_total{controller="apps",namespace=""} 1
# HELP templater_loops_detected_total Parents put into backoff because they were hot-looping: every reconciliation caused another write.
# TYPE templater_loops_detected_total counter
templater_loops_detected_total{controller="apps",namespace=""} 1
# HELP templater_templatecontroller_ready Whether the TemplateController is Ready: 1 or 0.
# TYPE templater_templatecontroller_ready gauge
templater_templatecontroller_ready{controller="apps",namespace=""} 1
# HELP templater_templatecontroller_rollout_halted Whether the rollout of the newest revision is halted: 1 or 0.
# TYPE templater_templatecontroller_rollout_halted gauge
templater_templatecontroller_rollout_halted{controller="apps",namespace=""} 1
# HELP templater_templatecontroller_revision_rejected Whether the newest revision is rejected by validation or preflight, while the previous one runs: 1 or 0.
# TYPE templater_templatecontroller_revision_rejected gauge
templater_templatecontroller_revision_rejected{controller="apps",namespace=""} 0
# HELP templater_reconcile_duration_seconds Duration of parent reconciliations in seconds, excluding skipped ones.
# TYPE templater_reconcile_duration_seconds histogram
templater_reconcile_duration_seconds_bucket{controller="apps",namespace="",le="0.001"} 0
templater_reconcile_duration_seconds_bucket{controller="apps",namespace="",le="0.005"} 0
templater_reconcile_duration_seconds_bucket{controller="apps",namespace="",le="0.02"} 2
templater_reconcile_duration_seconds_bucket{controller="apps",namespace="",le="0.05"} 2
templater_reconcile_duration_seconds_bucket{controller="apps",namespace="",le="0.1"} 2
templater_reconcile_duration_seconds_bucket{controller="apps",namespace="",le="0.25"} 2
templater_reconcile_duration_seconds_bucket{controller="apps",namespace="",le="0.5"} 2
templater_reconcile_duration_seconds_bucket{controller="apps",namespace="",le="1"} 2
templater_reconcile_duration_seconds_bucket{controller="apps",namespace="",le="2.5"} 2
templater_reconcile_duration_seconds_bucket{controller="apps",namespace="",le="5"} 2
templater_reconcile_duration_seconds_bucket{controller="apps",namespace="",le="10"} 2
templater_reconcile_duration_seconds_bucket{controller="apps",namespace="",le="30"} 2
templater_reconcile_duration_seconds_bucket{controller="apps",namespace="",le="60"} 2
templater_reconcile_duration_seconds_bucket{controller="apps",namespace="",le="+Inf"} 3
templater_reconcile_duration_seconds_sum{controller="apps",namespace=""} 120.02
templater_reconcile_duration_seconds_count{controller="apps",namespace=""} 3
`)
}

func TestSeriesAreRemovedWithTemplateController(t *testing.T) {
	m := newMeters()
	old := m.Begin("apps")
	m.Begin("other")
	all := testutil.CollectAndCount(m)
	m.End("apps")
	old.Reconciled(record.Succeeded, time.Second) // it was still running
	old.Write(record.Create, record.Rejected)
	if got := testutil.CollectAndCount(m); got != all/2 {
		t.Errorf("%d series are left of %d, want half of them", got, all)
	}
	m.Begin("apps").Reconciled(record.Succeeded, time.Second)
	if got := testutil.CollectAndCount(m); got != all {
		t.Errorf("%d series after another one of the name has come, want %d", got, all)
	}
	if got := testutil.CollectAndCount(m, "templater_reconcile_duration_seconds"); got != 2 {
		t.Errorf("%d histograms, want 2", got)
	}
}

func TestMeterDoesNotAllocate(t *testing.T) {
	m := newMeters().Begin("apps")
	if got := testing.AllocsPerRun(100, func() {
		m.Reconciled(record.Succeeded, time.Millisecond)
		m.Write(record.Update, record.Accepted)
		m.Parents(v1.ParentCounts{Total: 1})
	}); got > 0 {
		t.Errorf("measuring takes %.0f allocations, want none", got)
	}
}

func TestWatchMetricsAreCollectedOnScrape(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pods := watch.Want{Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Labels: "a=b", Role: watch.Child}
	crds := watch.Want{Resource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, Role: watch.Definition}
	w := watches{now: func() time.Time { return now }, states: func() []watch.State {
		return []watch.State{
			{Want: pods, Synced: true, Progress: now.Add(-time.Minute)},
			{Want: pods, Progress: now}, // two watches with the same labels
			{Want: crds, Err: errors.New("no"), Progress: now.Add(-time.Second)},
		}
	}}
	compare(t, w, `
# HELP templater_watches Running watches.
# TYPE templater_watches gauge
templater_watches 3
# HELP templater_watch_last_progress_age_seconds Seconds since the last list, start, event or bookmark of the watch.
# TYPE templater_watch_last_progress_age_seconds gauge
templater_watch_last_progress_age_seconds{resource="customresourcedefinitions.apiextensions.k8s.io",role="crd",watch="customresourcedefinitions.apiextensions.k8s.io/v1"} 1
templater_watch_last_progress_age_seconds{resource="pods",role="child",watch="pods/v1 labels \"a=b\""} 60
# HELP templater_watch_synced Whether the watch has completed its initial list: 1 or 0.
# TYPE templater_watch_synced gauge
templater_watch_synced{resource="customresourcedefinitions.apiextensions.k8s.io",role="crd",watch="customresourcedefinitions.apiextensions.k8s.io/v1"} 0
templater_watch_synced{resource="pods",role="child",watch="pods/v1 labels \"a=b\""} 1
`)
}

func TestEveryLabelValueHasName(t *testing.T) {
	for role := watch.Parent; role <= watch.Controller; role++ {
		if roles[role] == "" {
			t.Errorf("role %d has no name", role)
		}
	}
	for _, names := range [][]string{outcomes[:], verbs[:], answers[:]} {
		for i, name := range names {
			if name == "" {
				t.Errorf("value %d beside %q has no name", i, names)
			}
		}
	}
}

func TestWorkqueueMetricsAreLabeledByName(t *testing.T) {
	q := newQueues()
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "parents", MetricsProvider: q})
	defer queue.ShutDown()
	queue.Add("a")
	queue.Add("b")
	item, _ := queue.Get()
	queue.Done(item)
	compare(t, q.depth, `
# HELP workqueue_depth Current depth of the queue.
# TYPE workqueue_depth gauge
workqueue_depth{name="parents"} 1
`)
	compare(t, q.adds, `
# HELP workqueue_adds_total Items added to the queue.
# TYPE workqueue_adds_total counter
workqueue_adds_total{name="parents"} 2
`)
	for _, c := range []prometheus.Collector{q.latency, q.work} {
		if got := testutil.CollectAndCount(c); got != 1 {
			t.Errorf("%d series, want 1", got)
		}
	}
	delayed := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "controllers", MetricsProvider: q})
	defer delayed.ShutDown()
	delayed.AddAfter("a", time.Hour)
	if got := testutil.ToFloat64(q.retries.WithLabelValues("controllers")); got != 1 {
		t.Errorf("%v retries, want 1", got)
	}
}

// get returns the response of a registry.
func get(t *testing.T, r *Registry) string {
	t.Helper()
	answer := httptest.NewRecorder()
	r.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// idler is a client that does not read the response.
type idler struct {
	httptest.ResponseRecorder

	begun, ended chan struct{}
	once         sync.Once
}

func (i *idler) Write([]byte) (int, error) {
	i.once.Do(func() { close(i.begun) })
	<-i.ended
	return 0, os.ErrDeadlineExceeded
}

func (i *idler) SetWriteDeadline(time.Time) error {
	close(i.ended)
	return nil
}

func TestIdleScrapersDoNotBlockMetrics(t *testing.T) {
	handler := New().Handler()
	var idlers []*idler
	var all sync.WaitGroup
	request := func() *http.Request {
		return httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	}
	for range 2*maxScrapes + 1 {
		i := &idler{ResponseRecorder: *httptest.NewRecorder(), begun: make(chan struct{}), ended: make(chan struct{})}
		idlers = append(idlers, i)
		all.Go(func() { handler.ServeHTTP(i, request()) })
		<-i.begun
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request())
	if answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), "templater_build_info") {
		t.Errorf("%d: %s", answer.Code, answer.Body)
	}
	for n, i := range idlers {
		ended := false
		select {
		case <-i.ended:
			ended = true
		default:
			close(i.ended)
		}
		if want := n <= len(idlers)-maxScrapes; ended != want { // the oldest ones are aborted
			t.Errorf("request %d of %d was ended: %v, want %v", n, len(idlers), ended, want)
		}
	}
	all.Wait()
}

func TestRegistryExposesAllMetrics(t *testing.T) {
	r := New()
	r.Meters().Begin("apps")
	r.Queues().NewDepthMetric("parents").Inc()
	r.Queues().NewLatencyMetric("parents").Observe(11)
	r.Watches(func() []watch.State { return nil }, time.Now)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client, err := kube.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	at := request.Location{Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespace: "ns", Name: "secret-name"}
	if _, err := client.Get(t.Context(), at); err == nil {
		t.Error("unexpected object")
	}
	election := elections{}.NewLeaderMetric()
	election.On("templater")
	election.SlowpathExercised("templater")
	text := get(t, r)
	host := strings.TrimPrefix(server.URL, "http://")
	for _, want := range []string{
		`templater_reconcile_total{controller="apps",namespace="",result="success"} 0`,
		`workqueue_depth{name="parents"} 1`,
		`workqueue_queue_duration_seconds_bucket{name="parents",le="60"} 1`, // used by the alert TemplaterBehind
		`templater_watches 0`,
		`rest_client_requests_total{code="404",host="` + host + `",method="GET"} 1`,
		`rest_client_request_duration_seconds_count{host="` + host + `",verb="GET"} 1`,
		`leader_election_master_status{name="templater"} 1`,
		`leader_election_slowpath_total{name="templater"} 1`,
		`templater_build_info{goversion="go1.`,
		`go_goroutines `,
		`process_open_fds `,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, "secret-name") {
		t.Error("the name of an object is in a label")
	}
	election.Off("templater")
	if text := get(t, r); !strings.Contains(text, `leader_election_master_status{name="templater"} 0`) {
		t.Error("the lease was lost, and the metric does not say so")
	}
}

func TestMetricsPassPromlint(t *testing.T) {
	m := newMeters()
	m.Begin("apps")
	for _, c := range append(clientGoCollectors(), m, watches{func() []watch.State { return nil }, time.Now}) {
		problems, err := testutil.CollectAndLint(c)
		if err != nil || len(problems) > 0 {
			t.Errorf("%v %v", problems, err)
		}
	}
}
