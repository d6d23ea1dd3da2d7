package reconcile

import (
	"slices"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
)

func TestTemplateControllerThatGoes(t *testing.T) {
	t.Run("Orphan leaves the children", func(t *testing.T) {
		c := newCluster(t)
		o := c.apply(apps)
		c.apply(app)
		c.run()
		c.gone(kube.Location{Resource: v1.Resource, Name: o.GetName()})
		c.apply(with(t, app, "hello", "bye"))
		wantRequests(t, "gone", c.run())
	})
	t.Run("Delete takes them, and keeps the TemplateController until they are gone", func(t *testing.T) {
		c := newCluster(t)
		c.apply(with(t, apps, "spec:\n", "spec:\n  deletionPolicy: Delete\n"))
		c.apply(app)
		first := c.run()
		if first[0] != "finalizers[templater.dev/children] templatecontrollers apps" {
			t.Errorf("requests %v, want the finalizer first", first)
		}
		c.goes()
		got := c.run()
		slices.Sort(got)
		wantRequests(t, "deletion", got, "delete configmaps a", "delete configmaps b")
		c.gone(configMap("a"))
		wantRequests(t, "one is gone", c.run())
		c.gone(configMap("b"))
		wantRequests(t, "both are gone", c.run(), "finalizers[] templatecontrollers apps")
	})
	t.Run("while it is suspended, its children stay", func(t *testing.T) {
		c := newCluster(t)
		c.apply(with(t, apps, "spec:\n", "spec:\n  deletionPolicy: Delete\n"))
		c.apply(app)
		c.run()
		c.apply(with(t, apps, "spec:\n", "spec:\n  deletionPolicy: Delete\n  suspend: true\n"))
		c.get("templatecontrollers", "apps").SetFinalizers([]string{v1.FinalizerChildren})
		c.run()
		c.goes()
		wantRequests(t, "deletion", c.run(), "finalizers[] templatecontrollers apps")
	})
}
