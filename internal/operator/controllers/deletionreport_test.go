package controllers

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/controllers/deletion"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

const (
	deletedText = "Unknown TemplateControllerDeleted: TemplateController apps was deleted, so this object is no longer reconciled; its children "
	deletesAll  = "whenDeleted: DeleteChildren"
)

func TestParentsReportTemplateControllerDeletion(t *testing.T) {
	broken := invalid(t, apps)
	for _, row := range []struct {
		why      string
		manifest string
		leave    func(*cluster) // default: kubectl delete
		want     []string
		children string
	}{
		{"without a finalizer", apps, (*cluster).removed, []string{"status apps one"}, "are kept"},
		{"without a finalizer of templater", with(t, apps, "name: apps", "name: apps, finalizers: [example.org/x]"), (*cluster).startDeletion, []string{"status apps one"}, "are kept"},
		{"parents have finalizers", finalized(t), (*cluster).startDeletion, []string{"status apps one", "list apps everywhere", releaseParent, "list apps everywhere", givenUp}, "are kept"},
		{"children are deleted", withSpec(t, apps, deletesAll), (*cluster).startDeletion, []string{"status apps one", "delete configmaps a", "delete configmaps b", givenUp}, "are deleted with it"},
		{
			"all children are kept by their own policy", withTemplate(t, withSpec(t, apps, deletesAll), "prunePolicy: Orphan"), (*cluster).startDeletion,
			[]string{"status apps one", givenUp}, "are deleted with it, except those with prunePolicy or deletionPolicy Orphan",
		},
		{"the spec was rejected", apps, func(c *cluster) { c.KubectlApply(broken); c.Settle(); c.Requests = nil; c.removed() }, []string{"status apps one"}, "are kept"},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := begun(t, row.manifest, app)
			c.Settle()
			row.leave(c)
			wantRequests(t, "deletion", c.Settle(), row.want...)
			c.WantReady(deletedText + row.children)
			if count, _, _ := unstructured.NestedInt64(c.Find("apps", "one").Object, "status", "count"); count != 2 {
				t.Errorf("count %d, want the rest of the status as it was", count)
			}
			c.controllers.queue.Add("apps")
			wantRequests(t, "a second run", c.Settle())
			c.start()
			wantRequests(t, "after a restart", c.Settle())
		})
	}
}

// removed removes the TemplateController, which has no finalizers.
func (c *cluster) removed() { c.RemoveNow(appsController) }

func TestParentsThatDoNotReportTemplateControllerDeletion(t *testing.T) {
	for _, row := range []struct {
		why      string
		manifest string
		prepare  func(*cluster)
	}{
		{"the TemplateController was suspended", apps, func(c *cluster) {
			c.KubectlApply(withSpec(t, apps, "suspend: true"))
		}},
		{"the parent is being deleted: its children are not kept", apps, func(c *cluster) {
			c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
		}},
		{"another manager owns the ready condition", apps, func(c *cluster) {
			o := c.Find("apps", "one").DeepCopy()
			status := map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "Mine", "message": ""}}}}
			c.Store(one, memserver.Usual.Applied(o, status, "someone", "status"))
			c.Deliver()
		}},
		{"this replica is on standby", apps, func(c *cluster) { c.standby(); c.Run() }},
		{"the TemplateController is of another installation now", apps, func(c *cluster) {
			c.KubectlApply(withSpec(t, apps, "className: other"))
		}},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := begun(t, row.manifest, app)
			row.prepare(c)
			c.Settle()
			before := c.Condition("apps", "one", "Ready")
			c.removed()
			wantRequests(t, row.why, c.Settle())
			c.WantReady(before)
		})
	}
}

func TestRejectedDeletionReportDoesNotBlockDeletion(t *testing.T) {
	const key = "status apps one"
	for _, row := range []struct {
		why string
		err error
		n   int // number of writes
	}{
		{"no permission", refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `apps.example.org "one" is forbidden: User "u" cannot patch resource "apps/status" in API group "example.org" in the namespace "ns"`), 1},
		{"a webhook denies it", refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "x" denied the request: no`), 1},
		{"the schema refuses it", refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "no"), 1},
		{"the server does not answer", errors.New("no answer"), deletion.MaxTries},
		{"the server fails", refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no"), deletion.MaxTries},
		{"the kind is not served at present", reconciletest.Unserved(one), deletion.MaxTries},
		{"the server is busy", refusal(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "no"), deletion.MaxTries},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := begun(t, withSpec(t, apps, deletesAll), app)
			c.Settle()
			c.Refuse[key] = row.err
			c.startDeletion()
			want := append(slices.Repeat([]string{key}, row.n), "delete configmaps a", "delete configmaps b", givenUp)
			before := len(c.Requests)
			for range deletion.MaxTries {
				c.controllers.queue.Add("apps") // the retry is due
				c.Settle()
			}
			wantRequests(t, row.why, c.Requests[before:], want...)
		})
	}
}

func TestTransientDeletionReportErrorIsRetried(t *testing.T) {
	c := begun(t, apps, app)
	c.Settle()
	c.Refuse["status apps one"] = refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no")
	c.removed()
	if err := c.controllers.Sync(t.Context(), "apps"); err == nil {
		t.Error("no error, so that nobody tries again")
	}
	delete(c.Refuse, "status apps one")
	c.controllers.queue.Add("apps")
	c.Settle()
	c.WantReady(deletedText + "are kept")
}

func TestForbiddenDeletionReportIsTriedOncePerNamespace(t *testing.T) {
	c := begun(t, apps, app)
	for _, name := range []string{"two", "three"} {
		c.PutWithUID(with(t, app, "name: one", "name: "+name, "[a, b]", "[]"), types.UID("uid-"+name))
	}
	c.Settle()
	for _, name := range []string{"one", "two", "three"} {
		c.Refuse["status apps "+name] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `apps.example.org "one" is forbidden: User "u" cannot patch resource "apps/status" in API group "example.org" in the namespace "ns"`)
	}
	c.removed()
	if got := c.Settle(); len(got) != 1 {
		t.Errorf("requests %q, want one", got)
	}
}

func TestDeletionReportsAreBatched(t *testing.T) {
	c := begun(t, apps, app)
	const parents = 2*deletion.DeletionsAtATime + 1
	for _, name := range numbered(parents - 1) {
		c.PutWithUID(with(t, app, "name: one", "name: "+name, "[a, b]", "[]"), types.UID("uid-"+name))
	}
	c.Settle()
	before := len(c.Requests)
	c.removed()
	for i, want := range []int{deletion.DeletionsAtATime, 2 * deletion.DeletionsAtATime, parents} {
		if err := c.controllers.Sync(t.Context(), "apps"); err != nil {
			t.Fatal(err)
		}
		if got := len(c.Requests) - before; got != want {
			t.Errorf("after %d syncs: %d requests, want %d", i+1, got, want)
		}
	}
	wantRequests(t, "afterwards", c.Settle())
}

func TestDeletionWaitsForParentListAfterRestart(t *testing.T) {
	c := begun(t, withSpec(t, apps, deletesAll), app)
	c.Settle()
	c.startDeletion()
	parents := watch.Want{Resource: one.Resource, Role: watch.Parent}
	c.Silent[parents] = true
	c.start()
	wantRequests(t, "the parents are not known yet", c.Settle())
	delete(c.Silent, parents)
	c.List(parents)
	c.controllers.queue.Add("apps")
	wantRequests(t, "they are", c.Settle(), "status apps one", "delete configmaps a", "delete configmaps b", givenUp)
}
