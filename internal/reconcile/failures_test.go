package reconcile

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// waits is a queue that writes down how long keys are to wait, and lets none of them.
type waits struct {
	queue.Queue
	asked []time.Duration
}

func (w *waits) AddAfter(_ queue.Key, after time.Duration) { w.asked = append(w.asked, after) }

func TestFailuresAreCountedUntilASuccess(t *testing.T) {
	failed := []Result{{Retry: problem.RetryBackoff}, {Retry: problem.RetrySoon}, {Retry: problem.RetryBackoff}}
	for why, row := range map[string]struct {
		results []Result
		want    int
	}{
		"all failures in a row":                              {failed, 3},
		"nothing is left to do":                              {append(failed, Result{}), 0},
		"nothing is left to do until the next resync":        {append(failed, Result{After: time.Hour}), 0},
		"it waits for what others have to do":                {append(failed, Result{Retry: problem.RetrySlow}), 0},
		"newer data may be long in coming":                   {append(failed, Result{Retry: problem.RetryNow}), 4},
		"a failure after a success is the first of its row":  {append(failed, Result{}, Result{Retry: problem.RetryBackoff}), 1},
		"one that is tried again soon counts like any other": {append(failed, Result{Retry: problem.RetrySoon}), 4},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			key, other := keyOf("apps", "one"), keyOf("apps", "other")
			c.reconciler.again(other, Result{Retry: problem.RetryBackoff})
			for _, result := range row.results {
				c.reconciler.again(key, result)
			}
			if got := c.reconciler.queue.NumRequeues(key); got != row.want {
				t.Errorf("%d failures are counted, want %d", got, row.want)
			}
			if got := c.reconciler.queue.NumRequeues(other); got != 1 {
				t.Errorf("%d failures of another parent are counted, want 1", got)
			}
		})
	}
}

func TestWhatIsTriedSoonWaitsLongerEachTimeAndNeverLong(t *testing.T) {
	for retry, first := range map[problem.Retry]time.Duration{problem.RetrySoon: queue.FirstRetry, problem.RetryNow: freshDataLag} {
		c := newCluster(t)
		w := &waits{Queue: c.reconciler.queue}
		c.reconciler.queue = w
		key := keyOf("apps", "one")
		for range 10 {
			c.reconciler.again(key, Result{Retry: retry})
		}
		c.reconciler.again(key, Result{})
		c.reconciler.again(key, Result{Retry: retry})
		if len(w.asked) != 11 {
			t.Fatalf("waits %v, want 11", w.asked)
		}
		for n, got := range w.asked {
			want := min(first<<(n%10), longestSoon)
			if got < want || got > want+want/10 {
				t.Errorf("wait %d is %s, want %s and at most a tenth more", n, got, want)
			}
		}
	}
}

func TestAWatchThatIsBehindCostsFewRequests(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{}, "")
	conflict := apierrors.NewConflict(schema.GroupResource{}, "", nil)
	for why, refuse := range map[string]map[string]error{
		"the status conflicts":             {"status apps one": conflict},
		"a child is there and then is not": {"create configmaps a": conflict, "get configmaps a": notFound},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.refuse = refuse
			c.apply(apps)
			c.apply(app)
			for range 600 {
				c.run()
				c.clock.SetTime(c.clock.Now().Add(100 * time.Millisecond))
			}
			if n := len(c.requests); n < 8 || n > 60 {
				t.Errorf("%d requests within a minute, want some and not many", n)
			}
		})
	}
}

func TestAPassThatPanicsIsAFailure(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	key := keyOf("apps", "one")
	look := func() int {
		c.reconciler.queue.Add(key)
		c.reconciler.next(t.Context(), t.Context(), func() {})
		return c.reconciler.queue.NumRequeues(key)
	}
	breaker := c.reconciler.breaker
	c.reconciler.breaker = nil
	if got := look(); got != 1 {
		t.Errorf("%d failures after a panic, want 1", got)
	}
	c.reconciler.breaker = breaker
	if got := look(); got != 0 {
		t.Errorf("%d failures after a good pass, want 0", got)
	}
}
