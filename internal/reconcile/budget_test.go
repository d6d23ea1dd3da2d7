package reconcile_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/render/budget"
)

// toil is an action that uses two thirds of the budget of a reconciliation.
const toil = "{{ range 180000 }}{{ $x := 1 }}{{ end }}"

// toiling returns apps with another child template, and with expensive actions in some templates.
func toiling(t *testing.T, first, second, status string) string {
	t.Helper()
	return with(t, apps, "    template: |\n", "    template: |\n      "+first+"\n",
		"  status:\n    template: |\n", "  - name: more\n    template: |\n      "+second+"\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: more}\n  status:\n    template: |\n      "+status+"\n")
}

// TestTemplatesOfReconciliationShareBudget has templates that individually stay within the budget, but not together. The template that exceeds
// it is reported, and nothing is deleted.
func TestTemplatesOfReconciliationShareBudget(t *testing.T) {
	for why, row := range map[string]struct {
		first, second, status, at string
	}{
		"two entries":            {toil, toil, "", "children[more]:1:"},
		"an entry and a status":  {"", toil, toil, "status:1:"},
		"an entry is enough":     {toil + toil, "", "", "children[maps]:1:"},
		"all that is left is it": {toil, "", toil, "status:1:"},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(toiling(t, "", "", ""))
			c.KubectlApply(app)
			c.Run()
			c.Deliver()
			c.Run()
			c.KubectlApply(toiling(t, row.first, row.second, row.status))
			c.KubectlApply(newApp(withChildren("a")))
			for _, request := range c.Run() {
				if strings.HasPrefix(request, "delete") && !strings.HasPrefix(row.at, "status") {
					t.Errorf("%s", request)
				}
			}
			got := c.Condition("apps", "one", "Ready")
			if !strings.HasPrefix(got, "False TemplateError: "+row.at) || !strings.Contains(got, "the templates exceed the budget of one reconciliation (about 64 MiB of memory or 0.2 s of CPU time for all templates together): use shorter loops") || strings.Count(got, "too much work") > 1 {
				t.Errorf("condition %q, want one that names %s", got, row.at)
			}
		})
	}
}

// TestReconciliationCanBeCanceled cancels a reconciliation while its templates are rendered, and while it waits for memory. It sends no
// requests.
func TestReconciliationCanBeCanceled(t *testing.T) {
	c := newCluster(t)
	c.greedy = true
	c.start()
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.KubectlApply(toiling(t, toil, "", ""))
	c.KubectlApply(newApp(withChildren("a")))
	c.RunControllers()
	before := len(c.Requests)
	key := queue.Key{Controller: "apps", Parent: types.NamespacedName{Namespace: "ns", Name: "one"}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if result := c.Reconciler.Reconcile(ctx, key); result.Retry == problem.RetryOnChange || len(c.Requests) > before {
		t.Errorf("while it renders: retry %v, requests %v", result.Retry, c.Requests[before:])
	}
	pool := c.shared.memory
	var other queue.Reservation
	other.Open(t.Context(), pool, "other")
	if err := other.Grow(budget.MaxBytes); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	done := make(chan reconcile.Result)
	go func() { done <- c.Reconciler.Reconcile(ctx, key) }()
	reconciletest.Eventually(t, "it waits for memory", func() bool {
		return pool.Waiting() == 1
	})
	cancel()
	if result := <-done; result.Retry == problem.RetryOnChange || len(c.Requests) > before {
		t.Errorf("while it waits: retry %v, requests %v", result.Retry, c.Requests[before:])
	}
	other.Close()
	if used := pool.Held(); used != 0 {
		t.Errorf("%d bytes are held in the end", used)
	}
	wantRequests(t, "the next reconciliation", c.Run(), "create configmaps more", "delete configmaps b", "status apps one")
}

// TestReconciliationReleasesUnneededMemory checks the reserved memory of small and large reconciliations while they send requests.
func TestReconciliationReleasesUnneededMemory(t *testing.T) {
	for why, row := range map[string]struct {
		toil  string
		least int
		most  int
	}{
		"a small reconciliation":              {"", 0, 0},
		"a large one, when it makes requests": {toil, 1, 256 << 10},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(toiling(t, row.toil, "", ""))
			c.KubectlApply(app)
			c.RunControllers()
			held := -1
			c.During = func() {
				held = max(held, c.shared.memory.Held())
			}
			c.Run()
			if held < row.least || held > row.most {
				t.Errorf("it holds %d bytes", held)
			}
			if used := c.shared.memory.Held(); used != 0 {
				t.Errorf("in the end %d bytes are held", used)
			}
		})
	}
}
