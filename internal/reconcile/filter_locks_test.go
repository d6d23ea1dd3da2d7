package reconcile_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestAFailingFilterWaitsForTheChildrenToSync(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.Filtered(t, `eq .spec.mode 1`))
	c.KubectlApply(reconciletest.ManagedApp)
	c.Run()
	c.KubectlApply(with(t, reconciletest.ManagedApp, "mode: 1", "mode: x"))
	c.Settle()
	maps := watch.Want{Resource: reconciletest.Kinds[schema.GroupKind{Kind: "ConfigMap"}].Resource, Labels: v1.LabelController, Role: watch.Child}
	c.Silent[maps] = true
	c.start()
	wantRequests(t, "before the children are read", c.Run())
	delete(c.Silent, maps)
	c.List(maps)
	c.Settle()
	if c.controllers.get("apps").Parent(configMapName("one")) == nil {
		t.Error("a parent with children is none any more")
	}
	c.RemoveNow(configMap("a"))
	wantRequests(t, "a child is deleted", c.Settle(), "create configmaps a")
}
