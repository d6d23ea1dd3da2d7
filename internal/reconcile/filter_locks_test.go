package reconcile_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
)

func TestAFailingFilterWaitsForTheChildrenToSync(t *testing.T) {
	c := newCluster(t)
	c.apply(filtering(t, `eq .spec.mode 1`))
	c.apply(managed)
	c.run()
	c.apply(with(t, managed, "mode: 1", "mode: x"))
	c.settle()
	maps := watch.Want{Resource: fakeKinds[schema.GroupKind{Kind: "ConfigMap"}].Resource, Labels: v1.LabelController, Role: watch.Child}
	c.silent[maps] = true
	c.start()
	wantRequests(t, "before the children are read", c.run())
	delete(c.silent, maps)
	c.sync(maps)
	c.settle()
	if c.controllers.get("apps").Parent(configMapName("one")) == nil {
		t.Error("a parent with children is none any more")
	}
	c.gone(configMap("a"))
	wantRequests(t, "a child is deleted", c.settle(), "create configmaps a")
}
