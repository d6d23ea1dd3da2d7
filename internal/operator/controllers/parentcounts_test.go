package controllers

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// shownCounts returns status.parents of apps as last written.
func (c *cluster) shownCounts() string {
	c.T.Helper()
	n, _, _ := unstructured.NestedMap(c.Find("templatecontrollers", "apps").Object, "status", "parents")
	return fmt.Sprintf("total %v ready %v failed %v waiting %v updated %v suspended %v", n["total"], n["ready"], n["failed"], n["waiting"], n["updated"], n["suspended"])
}

// syncedCounts returns shownCounts after another sync.
func (c *cluster) syncedCounts() string {
	c.T.Helper()
	c.controllers.queue.Add("apps")
	c.RunControllers()
	return c.shownCounts()
}

func (c *cluster) parentsReady() string {
	c.T.Helper()
	return c.Condition("templatecontrollers", "apps", "ParentsReady")
}

func TestUpdatedCountsParentsReconciledWithTheCurrentSpec(t *testing.T) {
	c := begun(t, apps, app)
	want := func(why, counts, ready string) {
		t.Helper()
		if got := c.shownCounts(); got != counts {
			t.Errorf("%s: counts\n%s, want\n%s", why, got, counts)
		}
		if got := c.parentsReady(); got != ready {
			t.Errorf("%s: condition\n%s, want\n%s", why, got, ready)
		}
	}
	const done = "total 1 ready 1 failed 0 waiting 0 updated 1 suspended 0"
	const fine = "True ParentsReady: 1 ready, 0 suspended"
	c.syncedCounts()
	want("at first", done, fine)

	c.KubectlApply(with(t, apps, "count: {{", "size: {{"))
	c.Deliver()
	c.RunControllers() // without reconciling parents
	want("right after an edit", "total 1 ready 1 failed 0 waiting 0 updated 0 suspended 0", "Unknown Progressing: 1 of 1 parents are not yet reconciled with the current spec")
	c.Settle()
	c.syncedCounts()
	want("after the reconciliation", done, fine)
	wantRequests(t, "a second run", c.Settle())

	c.PutWithUID(newApp(withName("two"), withChildren("c")), "uid-two")
	c.controllers.queue.Add("apps")
	c.Deliver()
	c.RunControllers()
	want("a new parent", "total 2 ready 1 failed 0 waiting 0 updated 1 suspended 0", "Unknown Progressing: 1 of 2 parents are not yet reconciled with the current spec")
}

func TestUpdatedCountAfterRestart(t *testing.T) {
	for _, row := range []struct{ why, spec, want string }{
		{"the spec is the same: what was counted with it holds", apps, "total 1 ready 1 failed 0 waiting 0 updated 1 suspended 0"},
		{"the spec was edited meanwhile: no parent is reconciled with it", with(t, apps, "count: {{", "size: {{"), "total 1 ready 1 failed 0 waiting 0 updated 0 suspended 0"},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := begun(t, apps, app)
			c.syncedCounts()
			c.KubectlApply(row.spec)
			c.start()
			c.controllers.parents.ShutDown() // no parent is reconciled yet
			if got := c.syncedCounts(); got != row.want {
				t.Errorf("counts\n%s, want\n%s", got, row.want)
			}
		})
	}
}

func TestParentsOfSuspendedControllerAreCounted(t *testing.T) {
	const suspended = "total 1 ready 0 failed 0 waiting 0 updated 0 suspended 1"
	c := begun(t, apps, app)
	c.KubectlApply(withSpec(t, apps, "suspend: true"))
	wantRequests(t, "suspended", c.Settle())
	if got := c.syncedCounts(); got != suspended {
		t.Errorf("counts\n%s, want\n%s", got, suspended)
	}
	c.start()
	c.Settle()
	c.Clock.SetTime(c.Clock.Now().Add(2 * recountTime))
	if got := c.syncedCounts(); got != suspended {
		t.Errorf("after a restart: counts\n%s, want\n%s", got, suspended)
	}
	if got, want := c.parentsReady(), "True ParentsReady: 0 ready, 1 suspended"; got != want {
		t.Errorf("condition\n%s, want\n%s", got, want)
	}
	c.PutWithUID(newApp(withName("two"), withChildren("c")), "uid-two")
	c.Settle()
	if got, want := c.syncedCounts(), "total 2 ready 0 failed 0 waiting 0 updated 0 suspended 2"; got != want {
		t.Errorf("a new parent: counts\n%s, want\n%s", got, want)
	}
	c.Remove(one)
	c.Deliver()
	c.Settle()
	if got := c.syncedCounts(); got != suspended {
		t.Errorf("one parent is deleted: counts\n%s, want\n%s", got, suspended)
	}
}

func TestParentsDeletedWhileRejectedAreNotCounted(t *testing.T) {
	c := begun(t, apps, app)
	c.PutWithUID(newApp(withName("two"), withChildren("c")), "uid-two")
	c.Settle()
	c.syncedCounts()
	c.KubectlApply(invalid(t, apps))
	c.loseRevisions()
	c.Settle()
	two := one
	two.Name = "two"
	for _, step := range []struct {
		why     string
		removed request.Location
		want    string
	}{
		{"rejected", request.Location{}, "total 2 ready 0 failed 2 waiting 0 updated 0 suspended 0"},
		{"one parent is deleted", one, "total 1 ready 0 failed 1 waiting 0 updated 0 suspended 0"},
		{"the other one is deleted", two, "total 0 ready 0 failed 0 waiting 0 updated 0 suspended 0"},
	} {
		if step.removed.Name != "" {
			c.Remove(step.removed)
		}
		c.Deliver()
		c.Settle()
		if got := c.syncedCounts(); got != step.want {
			t.Errorf("%s: counts\n%s, want\n%s", step.why, got, step.want)
		}
	}
}

func TestParentsReadyNamesFailedParents(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	broken := with(t, app, "text: hello", "other: x")
	for i, name := range []string{"p", "q", "r", "s"} {
		c.PutWithUID(with(t, broken, "name: one", "name: "+name, "[a, b]", "[c"+name+"]"), types.UID(fmt.Sprint("uid-", i)))
	}
	c.Settle()
	c.syncedCounts()
	const failed = "False ParentsFailed: 4 of 5 parents have failed, for example ns/p (TemplateError); ns/q (TemplateError); ns/r (TemplateError)"
	if got := c.parentsReady(); got != failed {
		t.Errorf("condition\n%s, want\n%s", got, failed)
	}
	if got, want := c.Condition("templatecontrollers", "apps", "Ready"), "True Ready: accepted and watching"; got != want {
		t.Errorf("Ready %q, want %q", got, want)
	}
	version := c.Version
	c.syncedCounts()
	if c.Version != version {
		t.Error("a second look writes again")
	}
	c.KubectlApply(with(t, apps, "count: {{", "size: {{"))
	c.Deliver()
	c.RunControllers()
	if got := c.parentsReady(); got != failed {
		t.Errorf("during an update: condition\n%s, want\n%s", got, failed)
	}
	c.KubectlApply(invalid(t, apps))
	c.loseRevisions()
	c.Settle()
	if got, want := c.parentsReady(), "False NotAccepted: 5 parents are not reconciled until the spec is accepted"; got != want {
		t.Errorf("rejected: condition\n%s, want\n%s", got, want)
	}
}

func TestStatusNamesFailingParents(t *testing.T) {
	failing := func(c *cluster) string {
		c.controllers.queue.Add("apps")
		c.RunControllers()
		list, _, _ := unstructured.NestedSlice(c.Find("templatecontrollers", "apps").Object, "status", "failing")
		return fmt.Sprint(list)
	}
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.KubectlApply(with(t, app, "name: one", "name: two", "text: hello", "other: x", "[a, b]", "[c]"))
	c.Settle()
	if got, want := failing(c), "[map[name:two namespace:ns reason:TemplateError]]"; got != want {
		t.Errorf("failing: %s, want %s", got, want)
	}
	c.start()
	c.controllers.queue.Add("apps")
	c.controllers.parents.ShutDown() // no parent has been reconciled yet
	if got, want := failing(c), "[map[name:two namespace:ns reason:TemplateError]]"; got != want {
		t.Errorf("failing right after a restart: %s, want %s", got, want)
	}
	c.start()
	c.KubectlApply(newApp(withName("two"), withChildren("c")))
	c.Settle()
	if got, want := failing(c), "[]"; got != want {
		t.Errorf("failing after the correction: %s, want %s", got, want)
	}
}

func TestRejectedSpecFailsParentsOnlyWithoutRevision(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Settle()
	for _, step := range []struct{ why, spec, want string }{
		{"a broken edit: the previous revision keeps working", invalid(t, apps), "total 1, ready 1, failed 0"},
		{"its correction", apps, "total 1, ready 1, failed 0"},
	} {
		c.KubectlApply(step.spec)
		c.Settle()
		if got := c.parentCounts(); got != step.want {
			t.Errorf("%s: %s, want %s", step.why, got, step.want)
		}
	}
	c.KubectlApply(invalid(t, apps))
	c.loseRevisions()
	c.Settle()
	c.Clock.SetTime(c.Clock.Now().Add(2 * recountTime))
	if got, want := c.parentCounts(), "total 1, ready 0, failed 1"; got != want {
		t.Errorf("after a restart: %s, want %s", got, want)
	}
}

// TestParentsReadyWaitsForParents: kubectl wait --for=condition=ParentsReady returns once all parents are ready.
func TestParentsReadyWaitsForParents(t *testing.T) {
	c := begun(t, reconciletest.Shop, reconciletest.ShopApp)
	c.syncedCounts()
	if got, want := c.parentsReady(), "Unknown Progressing: 1 of 1 parents are not ready yet"; got != want {
		t.Errorf("a child is not ready: condition\n%s, want\n%s", got, want)
	}
	c.SetJobStatus("db", "{host: db, conditions: [{type: Complete, status: 'True'}]}")
	c.Settle()
	c.syncedCounts()
	if got, want := c.parentsReady(), "True ParentsReady: 1 ready, 0 suspended"; got != want {
		t.Errorf("all children are ready: condition\n%s, want\n%s", got, want)
	}
	wantRequests(t, "a second run", c.Settle())
}

func TestSuspendedParentsAreCounted(t *testing.T) {
	c := begun(t, apps, app)
	c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{v1.AnnotationSuspend: "true"}) })
	c.Settle()
	if got, want := c.syncedCounts(), "total 1 ready 0 failed 0 waiting 0 updated 0 suspended 1"; got != want {
		t.Errorf("counts\n%s, want\n%s", got, want)
	}
	if got, want := c.parentsReady(), "True ParentsReady: 0 ready, 1 suspended"; got != want {
		t.Errorf("condition\n%s, want\n%s", got, want)
	}
	c.KubectlApply(invalid(t, apps))
	c.Settle()
	if got, want := c.syncedCounts(), "total 1 ready 0 failed 0 waiting 0 updated 0 suspended 1"; got != want {
		t.Errorf("rejected spec: counts\n%s, want\n%s", got, want)
	}
}
