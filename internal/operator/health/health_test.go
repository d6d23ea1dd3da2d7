package health

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

var (
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pods  = watch.Want{Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Role: watch.Child}
	own   = watch.Want{Resource: schema.GroupVersionResource{Group: "templater.dev", Version: "v1", Resource: "templatecontrollers"}, Role: watch.Controller}
	key   = queue.Key{Controller: "apps", Parent: types.NamespacedName{Namespace: "ns", Name: "one"}}
)

// operator holds the inputs of the probes.
type operator struct {
	now     time.Time
	watches []watch.State
	work    []queue.Work
	down    error // of the API server
	asked   int
}

func (o *operator) live() *Live {
	return &Live{
		Watches: func() []watch.State { return o.watches },
		Work:    func() []queue.Work { return o.work },
		Ask:     func(context.Context) error { o.asked++; return o.down },
		Now:     func() time.Time { return o.now },
	}
}

// probe returns the status code and the body of a response.
func probe(t *testing.T, h http.Handler) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	return w.Code, w.Body.String()
}

func TestLiveness(t *testing.T) {
	const ok = "ok\n"
	for why, row := range map[string]struct {
		operator operator
		want     string
		asked    int
	}{
		"nothing runs yet": {operator{}, ok, 0},
		"a quiet watch gets bookmarks, or is begun anew by the Reflector": {
			operator{watches: []watch.State{{Want: pods, Heard: start.Add(-WatchLimit)}}}, ok, 0},
		"a watch that is blind": {
			operator{watches: []watch.State{{Want: pods, Synced: true, Heard: start.Add(-16 * time.Minute)}, {Want: own, Heard: start}}},
			"the watch for pods/v1 is stuck: no list, event, bookmark or restart since 2025-12-31T23:44:00Z (16m0s)\n", 1},
		"a watch that is refused tries on, and is not stuck": {
			operator{watches: []watch.State{{Want: pods, Err: errors.New("forbidden"), Progress: start.Add(-time.Hour), Heard: start.Add(-time.Second)}}}, ok, 0},
		"a watch while the API server is away": {
			operator{watches: []watch.State{{Want: pods, Heard: start.Add(-time.Hour)}}, down: errors.New("connection refused")}, ok, 1},
		"a worker that is busy": {
			operator{work: []queue.Work{{Key: key, Since: start.Add(-WorkLimit)}}}, ok, 0},
		"workers that hang": {
			operator{work: []queue.Work{{Key: key, Since: start.Add(-6 * time.Minute)}, {Key: queue.Key{Controller: "apps"}, Since: start.Add(-301 * time.Second)}}},
			"a worker is stuck: reconciliation of ns/one for TemplateController apps, no API request since 2025-12-31T23:54:00Z (6m0s)\n" +
				"a worker is stuck: sync of TemplateController apps, no API request since 2025-12-31T23:54:59Z (5m1s)\n", 1},
		"a worker while the API server is away": {
			operator{work: []queue.Work{{Key: key, Since: start.Add(-time.Hour)}}, down: errors.New("timeout")}, ok, 1},
	} {
		t.Run(why, func(t *testing.T) {
			o := row.operator
			o.now = start
			code, body := probe(t, o.live())
			if diff := cmp.Diff(row.want, body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if want := map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable}[row.want == ok]; code != want {
				t.Errorf("code %d, want %d", code, want)
			}
			if o.asked != row.asked {
				t.Errorf("the API server was asked %d times, want %d", o.asked, row.asked)
			}
		})
	}
}

func TestLivenessGracePeriodAfterAPIServerOutage(t *testing.T) {
	o := &operator{now: start, down: errors.New("refused"),
		watches: []watch.State{{Want: pods, Heard: start.Add(-time.Hour)}}, work: []queue.Work{{Key: key, Since: start.Add(-time.Hour)}}}
	live := o.live()
	expect := func(after time.Duration, want int) {
		t.Helper()
		o.now = start.Add(after)
		if got := live.Stuck(t.Context()); len(got) != want {
			t.Errorf("after %v: %q, want %d that are stuck", after, got, want)
		}
	}
	expect(0, 0)
	expect(WorkLimit+time.Second, 0) // still unavailable, and found so
	o.down = nil
	expect(WorkLimit+2*time.Second, 0)
	expect(2*WorkLimit+2*time.Second, 1)
	expect(WorkLimit+WatchLimit+2*time.Second, 2)
}

func TestReadiness(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	var states []watch.State
	var pending []string
	r := &Ready{Stopping: stopping, Watches: func() []watch.State { return states }, Pending: func() []string { return pending }}
	expect := func(want string) {
		t.Helper()
		code, body := probe(t, r)
		if diff := cmp.Diff(want, body); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
		if (code == http.StatusOK) != (want == "ok\n") {
			t.Errorf("code %d with %q", code, body)
		}
	}
	expect("the operator is starting\n")
	states = []watch.State{{Want: own}}
	expect("the watch for templatecontrollers.templater.dev/v1 has not synced yet\n")
	states = []watch.State{{Want: own, Err: errors.New("forbidden")}}
	expect("the watch for templatecontrollers.templater.dev/v1, which the operator needs, is failing: see the operator's log\n")
	states = []watch.State{{Want: own, Synced: true}}
	expect("the operator is starting\n")
	r.Begin()
	pending = []string{"apps", "b"}
	expect("TemplateController apps has not been reconciled yet\nTemplateController b has not been reconciled yet\n")
	pending, states = nil, append(states, watch.State{Want: pods})
	expect("the watch for pods/v1 has not synced yet\n")
	states[1].Err = errors.New("forbidden") // one TemplateController does not delay readiness
	expect("ok\n")
	states = append(states, watch.State{Want: pods}) // later watches are ignored
	expect("ok\n")
	stop()
	expect("the operator is stopping\n")
}
