package reconcile_test

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

func TestParentThatIsBeingDeletedGetsNoWrites(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.KubectlEdit(locationOf(parse(t, app)), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
	c.End(locationOf(parse(t, app)), metav1.DeletePropagationBackground)
	c.RemoveNow(configMap("a"))
	wantRequests(t, "it goes, and so does a child", c.Run())
}

func TestNothingIsDoneBeforeTheParentsAreKnown(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(frontOnly(t, apps))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	parents := watch.Want{Resource: locationOf(parse(t, app)).Resource, Labels: "tier=front", Role: watch.Parent}
	if c.Caches[parents] == nil {
		t.Fatalf("the parents are not watched by %v", parents)
	}
	c.Silent[parents] = true
	c.start()
	c.Run()
	_, requests := c.Pass("apps", "one") // it is not known, and does not look as if it had left
	wantRequests(t, "before the parents are read", requests)
	delete(c.Silent, parents)
	c.List(parents)
	wantRequests(t, "when they are", c.Run())
}

func TestUnreadableKindThatNobodyWantsStopsPruning(t *testing.T) {
	second := with(t, apps, "  status:\n", "  - name: more\n    template: |\n      {{ if .spec.more }}\n      apiVersion: example.org/v1\n      kind: Statusless\n      metadata: {name: s}\n      {{ end }}\n  status:\n")
	c := newCluster(t)
	c.KubectlApply(second)
	c.KubectlApply(with(t, app, "text: hello", "text: hello, more: true"))
	c.Run()
	c.Deliver()
	c.Run()
	if c.Find("statuslesses", "s") == nil {
		t.Fatal("there is no child of the second kind")
	}
	c.KubectlApply(app)
	for want, cache := range c.Caches {
		if want.Resource.Resource == "statuslesses" {
			cache.Fail(errors.New("no answer"))
		}
	}
	c.KubectlApply(newApp(withChildren("a")))
	for _, request := range c.Run() {
		if request == "delete configmaps b" {
			t.Error("a child was pruned though not all are known")
		}
	}
}

func TestChildThatWasReplacedIsNotDeletedInItsPlace(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.KubectlApply(newApp(withChildren("a")))
	c.Remove(configMap("b"))
	other := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: b}}")
	other.SetUID("uid-other")
	c.Store(configMap("b"), other) // the watch does not tell
	wantRequests(t, "another object has the name", c.Run(), "delete configmaps b", "get configmaps b", "status apps one")
	if c.Find("configmaps", "b") == nil {
		t.Error("an object of somebody else was deleted")
	}
	if got := c.Condition("apps", "one", "Ready"); got[:5] != "True " {
		t.Errorf("ready condition %q, want none of a fault: what was to go is gone", got)
	}
	c.Deliver()
	c.Run()
	_, again := c.Pass("apps", "one")
	wantRequests(t, "again", again)
}

// A status of an older state of the parent would undo what others have written into it since.
func TestStatusIsThatOfTheVersionThatWasRead(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.RemoveNow(configMap("b"))
	o := c.Find("apps", "one").DeepCopy()
	o.SetAnnotations(map[string]string{"new": "yes"})
	c.Store(locationOf(o), o) // the watch does not tell
	c.Refuse["create configmaps b"] = errors.New("no answer")
	result, requests := c.Pass("apps", "one")
	wantRequests(t, "the parent has changed", requests, "create configmaps b", "status apps one")
	if result.Retry == problem.RetryOnChange {
		t.Errorf("retry %v, want one that brings the status", result.Retry)
	}
	if got := c.Condition("apps", "one", "Ready"); got[:5] != "True " {
		t.Errorf("ready condition %q, want that of before", got)
	}
}
