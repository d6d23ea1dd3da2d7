package reconcile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestForeignObjectsAreNotModified(t *testing.T) {
	const other = `
apiVersion: v1
kind: ConfigMap
metadata:
  namespace: ns
  name: a
`
	owner := func(kind, name, uid string) string {
		return other + "  ownerReferences: [{apiVersion: example.org/v1, kind: " + kind + ", name: " + name + ", uid: " + uid + ", controller: true}]\n"
	}
	for why, row := range map[string]struct {
		there, want string
		retry       problem.Retry
	}{
		"it has no owner": {
			other, "False ChildConflict: ConfigMap ns/a already exists and has no owner: templater does not adopt it; delete it, or choose another name in the template", problem.RetrySlower,
		},
		"it belongs to another object": {
			owner("Other", "web", "u"), "False ChildConflict: ConfigMap ns/a already exists and belongs to Other web: templater does not adopt it; delete it, or choose another name in the template", problem.RetrySlower,
		},
		"it belongs to another controller of the same parent": {
			owner("App", "one", "uid-one") + "  labels: {templater.dev/controller: second, templater.dev/parent-uid: uid-one}\n",
			"False ChildConflict: ConfigMap ns/a already exists and belongs to TemplateController second for App one: templater does not adopt it; delete it, or choose another name in the template", problem.RetrySlower,
		},
		"it belongs to an earlier parent of the same name": {
			owner("App", "one", "earlier"), "False Progressing: ConfigMap ns/a belongs to an earlier parent of the same name; it will be recreated once garbage collection has deleted it", problem.RetrySoon,
		},
		"it belongs to an object of the parent's kind and name, in another group": {
			strings.Replace(owner("App", "one", "earlier"), "example.org/v1", "other.example.org/v1", 1),
			"False ChildConflict: ConfigMap ns/a already exists and belongs to App one of other.example.org/v1: templater does not adopt it; delete it, or choose another name in the template", problem.RetrySlower,
		},
		"it belongs to an earlier parent of the same name, in another version": {
			strings.Replace(owner("App", "one", "earlier"), "example.org/v1", "example.org/v1beta1", 1),
			"False Progressing: ConfigMap ns/a belongs to an earlier parent of the same name; it will be recreated once garbage collection has deleted it", problem.RetrySoon,
		},
		"it belongs to another object of the parent's kind": {
			owner("App", "two", "u"), "False ChildConflict: ConfigMap ns/a already exists and belongs to App two: templater does not adopt it; delete it, or choose another name in the template", problem.RetrySlower,
		},
		"it belongs to the parent, but we have not made it": {
			owner("App", "one", "uid-one"), "False ChildConflict: ConfigMap ns/a already exists and belongs to App one: templater does not adopt it; delete it, or choose another name in the template", problem.RetrySlower,
		},
		"it has our labels and has no owner": {
			other + "  labels: {templater.dev/controller: apps, templater.dev/parent-uid: uid-one}\n",
			"False ChildConflict: ConfigMap ns/a already exists and is labeled as a child of this object, but has no seal (annotation templater.dev/seal): another client created it or removed the seal; inspect it, then delete it, or choose another name in the template; to keep the object, see docs/operate/seals.md", problem.RetrySlower,
		},
		"it is being deleted": {
			other + "  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n", "False Progressing: ConfigMap ns/a is being deleted, and will be recreated", problem.RetrySoon,
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			before := c.KubectlApply(row.there).DeepCopy()
			c.KubectlApply(app)
			wantRequests(t, "first reconciliation", c.Run(), "create configmaps a", "get configmaps a", "create configmaps b", "status apps one")
			if got := c.Condition("apps", "one", "Ready"); got != row.want {
				t.Errorf("ready condition\n got %q\nwant %q", got, row.want)
			}
			if diff := cmp.Diff(before, c.Find("configmaps", "a")); diff != "" {
				t.Errorf("the object changed:\n%s", diff)
			}
			result, _ := c.Reconcile("apps", "one")
			if result.Retry != row.retry {
				t.Errorf("retry %v, want %v", result.Retry, row.retry)
			}
		})
	}
}

func TestRecreateDeletesAllChildrenBeforeCreating(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withStrategy(t, "Recreate"))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.KubectlApply(newApp(withText("bye")))
	wantRequests(t, "update", c.Run(), "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one")
	if got, want := c.Condition("apps", "one", "Ready"), "False Progressing: 0 of 2 children are ready: ConfigMap ns/a: being deleted; ConfigMap ns/b: being deleted"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.RemoveNow(configMap("a"))
	wantRequests(t, "one is gone", c.Run(), "status apps one") // the status counts it
	c.RemoveNow(configMap("b"))
	wantRequests(t, "both are gone", c.Run(), "create configmaps a", "create configmaps b", "status apps one")
}

func TestRecreateReplacesUnlabeledChild(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withStrategy(t, "Recreate"))
	c.KubectlApply(app)
	c.Run()
	c.RemoveLabels("a")
	wantRequests(t, "it is as the template says", c.Run(), "create configmaps a", "get configmaps a", "mark configmaps a")
	c.KubectlApply(newApp(withChildren("a"))) // one child, so that none has been replaced before
	c.Run()
	c.RemoveNow(configMap("b"))
	c.Run()
	c.RemoveLabels("a")
	c.KubectlApply(with(t, newApp(withChildren("a")), "hello", "bye"))
	wantRequests(t, "it is out of date, and may not be changed in place", c.Run(), "create configmaps a", "get configmaps a", "delete-foreground configmaps a", "status apps one")
	delete(c.Objects, configMap("a")) // as if no watch shows it
	_, requests := c.Reconcile("apps", "one")
	wantRequests(t, "it is gone", requests, "create configmaps a", "status apps one")
}

func TestNonUpdatingStrategiesRestoreLabelsOnly(t *testing.T) {
	for _, strategy := range []string{"CreateOnly", "OnDelete", "Recreate"} {
		t.Run(strategy, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(withStrategy(t, strategy))
			c.KubectlApply(app)
			c.Run()
			labels := c.Find("configmaps", "a").GetLabels()
			o := c.Find("configmaps", "a").DeepCopy()
			o.SetLabels(map[string]string{"mine": "yes"})
			o.Object["data"] = map[string]any{"text": "edited"}
			c.Store(configMap("a"), o)
			c.Deliver()
			wantRequests(t, "a child without its labels", c.Run(), "create configmaps a", "get configmaps a", "mark configmaps a")
			labels["mine"] = "yes"
			if diff := cmp.Diff(labels, c.Find("configmaps", "a").GetLabels()); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]any{"text": "edited"}, c.Find("configmaps", "a").Object["data"]); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			c.Deliver()
			wantRequests(t, "again", c.Run())
		})
	}
}

func TestRelabeledChildRemainsOutdated(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withStrategy(t, "OnDelete"))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.KubectlApply(newApp(withText("bye")))
	c.Run()
	for _, name := range []string{"a", "b"} {
		c.RemoveLabels(name)
	}
	c.Run()
	if got, want := c.Condition("apps", "one", "Ready"), "False Outdated: 2 of 2 children are out of date"; !strings.HasPrefix(got, want) {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

// The API server returns 404 for all objects of a kind that it does not serve: nothing was deleted, and nothing was attempted.
func TestUnservedChildKindIsNotTreatedAsDeleted(t *testing.T) {
	for _, request := range []string{"get configmaps a", "mark configmaps a"} {
		t.Run(request, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(withStrategy(t, "CreateOnly"))
			c.KubectlApply(app)
			c.Run()
			c.Refuse[request] = reconciletest.Unserved(configMap("a"))
			c.RemoveLabels("a")
			result, _ := c.Reconcile("apps", "one")
			c.WantReady("False ChildRequestFailed: cannot create ConfigMap ns/a: the API server does not serve this kind at the moment")
			if result.Retry != problem.RetryBackoff {
				t.Errorf("retry %v, want %v", result.Retry, problem.RetryBackoff)
			}
		})
	}
}

func TestChildDeletedDuringRelabelingIsRecreated(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withStrategy(t, "CreateOnly"))
	c.KubectlApply(app)
	c.Run()
	c.Refuse["mark configmaps a"] = apierrors.NewNotFound(configMap("a").Resource.GroupResource(), "a")
	c.RemoveLabels("a")
	result, requests := c.Reconcile("apps", "one")
	wantRequests(t, "it has gone", requests, "create configmaps a", "get configmaps a", "mark configmaps a", "status apps one")
	if got, want := c.Condition("apps", "one", "Ready"), "False Progressing: ConfigMap ns/a was just deleted"; got != want || result.Retry != problem.RetryNow {
		t.Errorf("ready condition %q and retry %v, want %q and %v", got, result.Retry, want, problem.RetryNow)
	}
}
