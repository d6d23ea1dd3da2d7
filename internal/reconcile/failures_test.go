package reconcile_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// The initial and the maximum delay for fresh data, as in package reconcile.
const freshDataLag, longestSoon = 100 * time.Millisecond, 10 * time.Second

func TestFailuresAreCountedUntilSuccess(t *testing.T) {
	failed := []reconcile.Result{{Retry: problem.RetryBackoff}, {Retry: problem.RetrySoon}, {Retry: problem.RetryBackoff}}
	for why, row := range map[string]struct {
		results []reconcile.Result
		want    int
	}{
		"all failures in a row":                              {failed, 3},
		"nothing is left to do":                              {append(failed, reconcile.Result{}), 0},
		"nothing is left to do until the next resync":        {append(failed, reconcile.Result{After: time.Hour}), 0},
		"it waits for what others have to do":                {append(failed, reconcile.Result{Retry: problem.RetrySlow}), 0},
		"newer data may be long in coming":                   {append(failed, reconcile.Result{Retry: problem.RetryNow}), 4},
		"a failure after a success is the first of its row":  {append(failed, reconcile.Result{}, reconcile.Result{Retry: problem.RetryBackoff}), 1},
		"one that is tried again soon counts like any other": {append(failed, reconcile.Result{Retry: problem.RetrySoon}), 4},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			key, other := reconciletest.KeyOf("apps", "one"), reconciletest.KeyOf("apps", "other")
			c.Reconciler.Requeue(other, reconcile.Result{Retry: problem.RetryBackoff})
			for _, result := range row.results {
				c.Reconciler.Requeue(key, result)
			}
			if got := c.ParentQueue.NumRequeues(key); got != row.want {
				t.Errorf("%d failures are counted, want %d", got, row.want)
			}
			if got := c.ParentQueue.NumRequeues(other); got != 1 {
				t.Errorf("%d failures of another parent are counted, want 1", got)
			}
		})
	}
}

func TestSoonRetriesBackOffUpToLimit(t *testing.T) {
	for retry, first := range map[problem.Retry]time.Duration{problem.RetrySoon: queue.FirstRetry, problem.RetryNow: freshDataLag} {
		t.Run(fmt.Sprint(retry), func(t *testing.T) {
			c := newCluster(t)
			key := reconciletest.KeyOf("apps", "one")
			var waits []time.Duration
			again := func(result reconcile.Result) {
				c.ParentQueue.Drop()
				c.Reconciler.Requeue(key, result)
				if at, waiting := c.ParentQueue.Due(key); waiting {
					waits = append(waits, at.Sub(c.Clock.Now()))
				}
			}
			for range 10 {
				again(reconcile.Result{Retry: retry})
			}
			again(reconcile.Result{})
			again(reconcile.Result{Retry: retry})
			if len(waits) != 11 {
				t.Fatalf("waits %v, want 11", waits)
			}
			for n, got := range waits {
				want := min(first<<(n%10), longestSoon)
				if got < want || got > want+want/10 {
					t.Errorf("wait %d is %s, want %s and at most a tenth more", n, got, want)
				}
			}
		})
	}
}

func TestManyFailingParentsAreRetriedInTurn(t *testing.T) {
	const parents = 5000
	for _, row := range []struct {
		why   string
		retry problem.Retry
		least time.Duration // delay of the last parent
		most  time.Duration
	}{
		{"conflicts", problem.RetrySlower, 100 * time.Second, 110 * time.Second},
		{"rejected writes", problem.RetryBackoff, 100 * time.Second, 110 * time.Second},
		{"failures that end soon", problem.RetrySoon, queue.FirstRetry, longestSoon},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := newCluster(t)
			for i := range parents {
				c.Reconciler.Requeue(reconciletest.KeyOf("apps", fmt.Sprint(i)), reconcile.Result{Retry: row.retry})
			}
			if got := c.ParentQueue.Wait(reconciletest.KeyOf("apps", fmt.Sprint(parents-1))); got < row.least || got > row.most {
				t.Errorf("the last parent is retried after %s, want %s to %s", got, row.least, row.most)
			}
		})
	}
}

func TestStaleWatchCausesFewRequests(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{}, "")
	conflict := apierrors.NewConflict(schema.GroupResource{}, "", nil)
	for why, refuse := range map[string]map[string]error{
		"the status conflicts":             {"status apps one": conflict},
		"a child is there and then is not": {"create configmaps a": conflict, "get configmaps a": notFound},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.Refuse = refuse
			c.KubectlApply(apps)
			c.KubectlApply(app)
			for range 600 {
				c.Run()
				c.Clock.SetTime(c.Clock.Now().Add(100 * time.Millisecond))
			}
			if n := len(c.Requests); n < 8 || n > 60 {
				t.Errorf("%d requests within a minute, want some and not many", n)
			}
		})
	}
}

func TestPanickingReconciliationCountsAsFailure(t *testing.T) {
	c := newCluster(t)
	c.restless = true
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	key := reconciletest.KeyOf("apps", "one")
	look := func() int {
		c.ParentQueue.Add(key)
		c.Reconciler.Next(t.Context(), t.Context(), func() {})
		return c.ParentQueue.NumRequeues(key)
	}
	controller := c.controllers.get("apps")
	spec := controller.Spec
	controller.Spec = nil
	if got := look(); got != 1 {
		t.Errorf("%d failures after a panic, want 1", got)
	}
	controller.Spec = spec
	if got := look(); got != 0 {
		t.Errorf("%d failures after a good reconciliation, want 0", got)
	}
}

func TestReconciliationPanicIsRecordedOnce(t *testing.T) {
	c := newCluster(t)
	c.restless = true
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.Events = nil
	c.controllers.get("apps").Spec = nil
	key := queue.Key{Controller: "apps", Parent: configMapName("one")}
	for range 3 {
		c.ParentQueue.Add(key)
		c.Reconciler.Next(t.Context(), t.Context(), func() {})
	}
	want := []string{"one Warning InternalError: the reconciliation panicked and will be retried: this is a bug in templater, please report it with the stack trace in the operator's log"}
	if fmt.Sprint(c.Events) != fmt.Sprint(want) {
		t.Errorf("Events %q, want %q", c.Events, want)
	}
}

func TestNoReconciliationStartsAfterCancellation(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.RunControllers()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c.ParentQueue.Len() != 1 || c.Reconciler.Next(ctx, t.Context(), func() {}) || len(c.Requests) > 0 {
		t.Errorf("%d keys are left; requests %v", c.ParentQueue.Len(), c.Requests)
	}
}
