package reconcile_test

import (
	"testing"

	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// TestRelatedObjectsAreReadAsTheAccount has two TemplateControllers with different accounts read the same objects, of which one
// account may read none.
func TestRelatedObjectsAreReadAsTheAccount(t *testing.T) {
	c := newCluster(t)
	own, others := relatedJobs, relatedJobs
	own.As, others.As = reconciletest.Robot, "system:serviceaccount:other:robot"
	c.Silent[others] = true
	c.KubectlApply(withSpec(t, readers, "serviceAccountRef: {namespace: team, name: robot}"))
	c.KubectlApply(with(t, readers, "name: apps", "name: curious", "spec:\n", "spec:\n  serviceAccountRef: {namespace: other, name: robot}\n", "{name: {{ .metadata.name }}}", "{name: curious}"))
	c.KubectlApply(reader("ns", "one", "{job: a}"))
	c.KubectlApply(job("ns", "a", "{}", "{note: x}"))
	c.Run()
	c.Caches[others].Fail(reconciletest.ErrForbidden)
	c.Settle()
	if got := c.JobsOf("one"); got != "a: x" {
		t.Errorf("the child of who may read says %q", got)
	}
	if c.Find("configmaps", "curious") != nil {
		t.Error("who may not read has made a child")
	}
	for _, want := range []watch.Want{own, others} {
		if c.Caches[want] == nil {
			t.Errorf("nothing is read as %s", want.As)
		}
	}
	if c.Caches[relatedJobs] != nil {
		t.Error("related objects are read as the operator")
	}
}
