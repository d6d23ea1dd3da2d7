package reconcile_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// dumped renders a child that is updated, one that is replaced, and one in another namespace.
const dumped = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: updated
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: updated}
      data: {text: {{ .spec.text }}}
  - name: replaced
    updateStrategy: {type: Recreate}
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: replaced}
      data: {text: {{ .spec.text }}}
  - name: far
    scope: Cluster
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: elsewhere, namespace: far}
      data: {text: {{ .spec.text }}}
`

// dump returns the parents and children, like a backup.
func (c *cluster) dump() map[request.Location]*unstructured.Unstructured {
	out := map[request.Location]*unstructured.Unstructured{}
	for at, o := range c.Objects {
		if at != appsController {
			out[at] = o.DeepCopy()
		}
	}
	return out
}

// restore restores a dump without any status. uid returns the new UID of an object in the dump.
func (c *cluster) restore(dump map[request.Location]*unstructured.Unstructured, uid func(at request.Location, was types.UID) types.UID) {
	c.T.Helper()
	for at, o := range dump {
		o = o.DeepCopy()
		delete(o.Object, "status")
		o.SetUID(uid(at, o.GetUID()))
		if there := c.Objects[at]; there != nil && there.GetUID() != o.GetUID() {
			c.Remove(at)
		}
		c.Store(at, o)
	}
	tc := c.Objects[appsController].DeepCopy()
	delete(tc.Object, "status")
	c.Store(appsController, tc)
}

// TestRestoredBackupCausesNoDeletion restores parents and children from before a change, with their old seals. The objects keep their UIDs: a
// parent with another UID is another parent.
func TestRestoredBackupCausesNoDeletion(t *testing.T) {
	for how, uid := range map[string]func(c *cluster) func(at request.Location, was types.UID) types.UID{
		"all of the cluster": func(*cluster) func(request.Location, types.UID) types.UID {
			return func(_ request.Location, was types.UID) types.UID { return was }
		},
		"over the objects that there are": func(c *cluster) func(request.Location, types.UID) types.UID {
			return func(at request.Location, _ types.UID) types.UID { return c.Objects[at].GetUID() }
		},
	} {
		for when, restart := range map[string]bool{"": false, ", before a start": true} {
			t.Run(how+when, func(t *testing.T) {
				c := newCluster(t)
				c.KubectlApply(dumped)
				c.KubectlApply(app)
				c.Settle()
				dump := c.dump()
				c.Clock.SetTime(c.Clock.Now().Add(time.Minute))
				c.KubectlApply(newApp(withText("bye")))
				c.Settle()
				c.restore(dump, uid(c))
				if restart {
					c.start()
				}
				c.Deliver()
				for range 3 {
					reconciletest.WantNoDeletion(t, c.Settle())
					c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
				}
				for at := range dump {
					if at.Resource.Resource != "configmaps" {
						continue
					}
					if diff := cmp.Diff(map[string]any{"text": "hello"}, c.Objects[at].Object["data"]); diff != "" {
						t.Errorf("%s: data (-want +got):\n%s", at.Name, diff)
					}
				}
				if got := c.Condition("apps", "one", "Ready"); got != "True Ready: all children are ready: 3" {
					t.Errorf("ready condition is %q", got)
				}
				c.start()
				wantRequests(t, "after a restart", c.Settle())
			})
		}
	}
}
