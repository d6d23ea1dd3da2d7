package reconcile_test

import (
	"testing"

	"github.com/templater-dev/templater/internal/kube/watch"
)

// TestRelatedObjectsAreReadAsTheAccount has two TemplateControllers with different accounts read the same objects, of which one
// account may read none.
func TestRelatedObjectsAreReadAsTheAccount(t *testing.T) {
	c := newCluster(t)
	own, others := relatedJobs, relatedJobs
	own.As, others.As = robot, "system:serviceaccount:other:robot"
	c.silent[others] = true
	c.apply(with(t, readers, "spec:\n", "spec:\n  serviceAccountRef: {namespace: team, name: robot}\n"))
	c.apply(with(t, readers, "name: apps", "name: curious", "spec:\n", "spec:\n  serviceAccountRef: {namespace: other, name: robot}\n", "{name: {{ .metadata.name }}}", "{name: curious}"))
	c.apply(reader("ns", "one", "{job: a}"))
	c.apply(job("ns", "a", "{}", "{note: x}"))
	c.run()
	c.caches[others].Fail(forbidden)
	c.settle()
	if got := c.jobsOf("one"); got != "a: x" {
		t.Errorf("the child of who may read says %q", got)
	}
	if c.get("configmaps", "curious") != nil {
		t.Error("who may not read has made a child")
	}
	for _, want := range []watch.Want{own, others} {
		if c.caches[want] == nil {
			t.Errorf("nothing is read as %s", want.As)
		}
	}
	if c.caches[relatedJobs] != nil {
		t.Error("related objects are read as the operator")
	}
}
