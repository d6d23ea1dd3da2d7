package controllers

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// quietReconciliation returns a reconciliation of a parent with two ConfigMaps that changes nothing. This is the cost
// of each resync, and of each event that needs no write.
func quietReconciliation(tb testing.TB) func() {
	tb.Helper()
	c := newCluster(tb)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.Run()
	key, before := queue.Key{Controller: "apps", Parent: configMapName("one")}, len(c.Requests)
	return func() {
		c.Reconciler.Reconcile(tb.Context(), key)
		if made := len(c.Requests) - before; made > 0 {
			tb.Fatalf("%d requests in quiet reconciliations", made)
		}
	}
}

func BenchmarkQuietReconciliation(b *testing.B) {
	reconcileOnce := quietReconciliation(b)
	b.ReportAllocs()
	for b.Loop() {
		reconcileOnce()
	}
}

// BenchmarkReconcileManyNamespaces measures a quiet reconciliation of one of 10,000 parents in as many namespaces, each
// with ten children: of parents with the same name everywhere, and of parents with different names.
func BenchmarkReconcileManyNamespaces(b *testing.B) {
	if testing.Short() {
		b.Skip("making 200,000 children takes a minute")
	}
	const namespaces, children = 10_000, 10
	klog.SetLogger(logr.Discard())
	defer klog.ClearLogger()
	for what, nameOf := range map[string]func(int) string{
		"SameName":      func(int) string { return "main" },
		"DistinctNames": func(i int) string { return fmt.Sprint("main-", i) },
	} {
		b.Run(what, func(b *testing.B) {
			c := newCluster(b)
			c.KubectlApply(apps)
			for i := range namespaces {
				parent := types.NamespacedName{Namespace: fmt.Sprint("ns-", i), Name: nameOf(i)}
				c.Store(request.Location{Resource: reconciletest.Kinds[schema.GroupKind{Group: "example.org", Kind: "App"}].Resource, Namespace: parent.Namespace, Name: parent.Name}, reconciletest.AppWith(parent, children))
			}
			c.Deliver()
			c.Run()
			c.Deliver()
			c.Run()
			runtime.GC() // for the memory used to create them
			before, next := len(c.Requests), 0
			b.ReportAllocs()
			for b.Loop() {
				next = (next + 7919) % namespaces
				c.Reconciler.Reconcile(b.Context(), queue.Key{Controller: "apps", Parent: types.NamespacedName{Namespace: fmt.Sprint("ns-", next), Name: nameOf(next)}})
			}
			if made := len(c.Requests) - before; made > 0 || before < namespaces*(children+1) {
				b.Fatalf("%d requests for the children, and %d in quiet reconciliations", before, made)
			}
		})
	}
}
