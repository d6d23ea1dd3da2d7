package reconcile_test

import (
	"fmt"
	"testing"

	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func TestPanicInAPassIsToldOnce(t *testing.T) {
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
