package reconcile_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// measured returns a cluster with an operator whose metrics are recorded.
func measured(t *testing.T) (*cluster, *reconciletest.Meters) {
	t.Helper()
	c, m := newCluster(t), reconciletest.NewMeters()
	c.controllers.meters = m
	return c, m
}

// reconcileMeasured reconciles the parent like a worker, and returns the recorded metrics.
func reconcileMeasured(t *testing.T, c *cluster, m *reconciletest.Meters) map[string]int {
	t.Helper()
	before := maps.Clone(m.Each["apps"].Counts)
	c.ParentQueue.Add(queue.Key{Controller: "apps", Parent: configMapName("one")})
	for c.ParentQueue.Len() > 0 {
		c.Reconciler.Next(t.Context(), t.Context(), func() {})
	}
	now := maps.Clone(m.Each["apps"].Counts)
	for what, n := range before {
		if now[what] -= n; now[what] == 0 {
			delete(now, what)
		}
	}
	return now
}

func TestEachReconciliationHasOneOutcome(t *testing.T) {
	pass := func(o record.Outcome) string { return fmt.Sprint("reconciliation ", o) }
	write := func(v record.Verb, a record.Response) string { return fmt.Sprint("write ", v, " ", a) }
	for why, row := range map[string]struct {
		before func(*testing.T, *cluster)
		want   map[string]int
	}{
		"nothing is to do": {func(*testing.T, *cluster) {}, map[string]int{pass(record.Succeeded): 1}},
		"a child is missing": {
			func(_ *testing.T, c *cluster) { c.RemoveNow(configMap("a")) },
			map[string]int{pass(record.Succeeded): 1, write(record.Create, record.Accepted): 1},
		},
		"a child is there that is no longer wanted": {
			func(_ *testing.T, c *cluster) { c.KubectlApply(newApp(withChildren("a"))) },
			map[string]int{pass(record.Succeeded): 1, write(record.Delete, record.Accepted): 1},
		},
		"a template fails": {
			func(t *testing.T, c *cluster) { c.KubectlApply(with(t, app, ", text: hello", "")) },
			map[string]int{pass(record.Failed): 1, "template error": 1},
		},
		"a template gives up": {
			func(t *testing.T, c *cluster) {
				c.KubectlApply(withStatus(t, apps, "count: {{ fail \"no\" }}"))
				c.RunControllers()
			},
			map[string]int{pass(record.Failed): 1, "template error": 1},
		},
		"the server refuses a write, and the reconciliation is to be repeated": {
			func(_ *testing.T, c *cluster) {
				c.RemoveNow(configMap("a"))
				c.Refuse["create configmaps a"] = refusal(http.StatusUnprocessableEntity, "Invalid", "no")
			},
			map[string]int{pass(record.Failed): 1, write(record.Create, record.Rejected): 1},
		},
		"the server does not answer": {
			func(_ *testing.T, c *cluster) {
				c.RemoveNow(configMap("a"))
				c.Refuse["create configmaps a"] = errors.New("connection refused")
			},
			map[string]int{pass(record.Failed): 1, write(record.Create, record.NoAnswer): 1},
		},
		"a conflict over a child that is as it was": {
			func(_ *testing.T, c *cluster) {
				c.KubectlApply(newApp(withText("bye")))
				c.Refuse["update configmaps a"] = apierrors.NewConflict(configMap("a").Resource.GroupResource(), "a", nil)
			},
			map[string]int{pass(record.Failed): 1, write(record.Update, record.Conflict): 1, write(record.Update, record.Accepted): 1},
		},
		"the parent changes at the moment": {
			func(_ *testing.T, c *cluster) {
				c.KubectlApply(newApp(withText("bye")))
				c.Refuse["status apps one"] = apierrors.NewConflict(configMap("a").Resource.GroupResource(), "one", nil)
			},
			map[string]int{pass(record.Waiting): 1, write(record.Update, record.Accepted): 2},
		},
		"the TemplateController is suspended": {
			func(t *testing.T, c *cluster) {
				c.KubectlApply(withSpec(t, apps, "suspend: true"))
				c.RunControllers()
			},
			map[string]int{pass(record.Skipped): 1},
		},
		"the parent has gone, and the garbage collector has its time": {
			func(t *testing.T, c *cluster) {
				c.RemoveNow(locationOf(parse(t, app)))
			},
			map[string]int{pass(record.Waiting): 1},
		},
		"the parent has gone with its children": {
			func(t *testing.T, c *cluster) {
				c.RemoveNow(configMap("a"))
				c.RemoveNow(configMap("b"))
				c.RemoveNow(locationOf(parse(t, app)))
			},
			map[string]int{pass(record.Succeeded): 1},
		},
		"there is a bug": {
			func(_ *testing.T, c *cluster) { c.controllers.get("apps").Spec, c.restless = nil, true },
			map[string]int{pass(record.Panicked): 1},
		},
	} {
		t.Run(why, func(t *testing.T) {
			c, m := measured(t)
			c.KubectlApply(apps)
			c.KubectlApply(app)
			c.Run()
			c.Deliver()
			c.Run()
			row.before(t, c)
			if diff := cmp.Diff(row.want, reconcileMeasured(t, c, m)); diff != "" {
				t.Errorf("measured (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsAreClassifiedForMetrics(t *testing.T) {
	configMaps := configMap("a").Resource.GroupResource()
	for why, row := range map[string]struct {
		err  error
		want record.Response
	}{
		"done":                    {nil, record.Accepted},
		"another object":          {apierrors.NewConflict(configMaps, "a", nil), record.Conflict},
		"there already":           {apierrors.NewAlreadyExists(configMaps, "a"), record.Conflict},
		"a right is missing":      {refusal(http.StatusForbidden, "Forbidden", `configmaps is forbidden: User "x" cannot create resource "configmaps"`), record.Forbidden},
		"a quota is used up":      {refusal(http.StatusForbidden, "Forbidden", "exceeded quota: q, requested: pods=1"), record.Rejected},
		"the object is not valid": {refusal(http.StatusUnprocessableEntity, "Invalid", "no"), record.Rejected},
		"an unknown field, which the server answers 500 to": {refusal(http.StatusInternalServerError, "", ".data.x: field not declared in schema"), record.Rejected},
		"the server fails":                    {refusal(http.StatusInternalServerError, "InternalError", "etcd"), record.NoAnswer},
		"the server has too much to do":       {refusal(http.StatusTooManyRequests, "TooManyRequests", "later"), record.NoAnswer},
		"a value of the wrong form, likewise": {refusal(http.StatusInternalServerError, "", "unable to convert unstructured object to v1, Kind=Secret: illegal base64 data"), record.Rejected},
		"an answer without a code":            {refusal(0, "", "what"), record.NoAnswer},
		"the server is not to be reached":     {errors.New("connection refused"), record.NoAnswer},
	} {
		t.Run(why, func(t *testing.T) {
			if got := controller.AnswerOf(row.err); got != row.want {
				t.Errorf("%d, want %d", got, row.want)
			}
		})
	}
}

func TestLoopsAreCounted(t *testing.T) {
	c, m := measured(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	for range loopBurst {
		c.RemoveNow(configMap("a"))
		c.Run()
	}
	if got := m.Each["apps"].Counts["trip"]; got != 1 {
		t.Errorf("%d trips, want 1", got)
	}
}

// Orphaned children are written once more.
func TestOrphaningUpdatesAreCounted(t *testing.T) {
	c, m := measured(t)
	c.KubectlApply(tenants)
	c.KubectlApply(tenant)
	c.Settle()
	writes := fmt.Sprint("write ", record.Update, " ", controller.AnswerOf(nil))
	before := m.Each["apps"].Counts[writes]
	c.KubectlDelete(one, metav1.DeletePropagationOrphan)
	c.Settle()
	if got := m.Each["apps"].Counts[writes] - before; got != 2 {
		t.Errorf("%d updates were counted, want 2; all are %v", got, m.Each["apps"].Counts)
	}
}
