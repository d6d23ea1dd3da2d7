package controllers

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// measured returns a cluster with an operator that records metrics.
func measured(t *testing.T) (*cluster, *reconciletest.Meters) {
	t.Helper()
	c, m := newCluster(t), reconciletest.NewMeters()
	c.controllers.meters = m
	return c, m
}

func TestMetricsCountParentsAndReadiness(t *testing.T) {
	c, m := measured(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.KubectlApply(with(t, app, "name: one", "name: two", ", text: hello", ""))
	c.Run()
	got := m.Each["apps"]
	if want := (v1.ParentCounts{Total: 2, Ready: 1, Failed: 1, Updated: 2}); got.ParentCounts != want || !got.IsReady {
		t.Errorf("parents %+v and ready %v, want %+v and true", got.ParentCounts, got.IsReady, want)
	}
	c.RemoveNow(locationOf(parse(t, newApp(withName("two")))))
	c.Run()
	if want := (v1.ParentCounts{Total: 1, Ready: 1, Updated: 1}); got.ParentCounts != want {
		t.Errorf("parents %+v, want %+v", got.ParentCounts, want)
	}
	c.KubectlApply(with(t, apps, "kind: App", "kind: Nowhere"))
	c.Run()
	if got.IsReady {
		t.Error("a TemplateController whose kind is missing is measured as ready")
	}
}

func TestMetricsAreRemovedWithTemplateController(t *testing.T) {
	c, m := measured(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	was := m.Each["apps"]
	c.RemoveNow(request.Location{Resource: v1.Resource, Name: "apps"})
	c.Run()
	if !slices.Equal(m.Ended, []string{"apps"}) || len(m.Each) != 0 {
		t.Errorf("ended: %v, left: %d", m.Ended, len(m.Each))
	}
	before := len(was.Counts)
	c.ParentQueue.Add(queue.Key{Controller: "apps", Parent: configMapName("one")})
	c.Reconciler.Next(t.Context(), t.Context(), func() {})
	if len(m.Each) != 0 || len(was.Counts) != before {
		t.Error("a reconciliation for a TemplateController that is gone was measured")
	}
}

func TestMetricsCountDeletionsDuringTeardown(t *testing.T) {
	c, m := measured(t)
	c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
	c.KubectlApply(app)
	c.Run()
	c.Refuse["delete configmaps a"] = refusal(http.StatusForbidden, "Forbidden", "admission webhook \"x\" denied the request")
	c.startDeletion()
	c.Run()
	got := m.Each["apps"].Counts
	if done, refused := got[fmt.Sprint("write ", record.Delete, " ", record.Accepted)], got[fmt.Sprint("write ", record.Delete, " ", record.Rejected)]; done != 1 || refused == 0 {
		t.Errorf("%d deletions accepted and %d rejected, want 1 and some", done, refused)
	}
}

func TestMetricsShowHaltedAndRejectedRevisions(t *testing.T) {
	for _, row := range []struct {
		why, manifest    string
		refuse           string // prefix of the requests for the ConfigMaps of all parents
		halted, rejected bool
	}{
		{"the revision is valid", edition(t, "two", staged), "", false, false},
		{"the spec is invalid", invalid(t, edition(t, "two", staged)), "", false, true},
		{"preflight refuses the revision", edition(t, "two", staged), "dry-run update configmaps ", false, true},
		{"the first step fails", edition(t, "two", staged), "update configmaps ", true, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			c, m := newCluster(t), reconciletest.NewMeters()
			c.tries = true
			c.startWith(Options{Meters: m})
			c.KubectlApply(edition(t, "one", staged))
			for i := range 3 {
				c.PutWithUID(newApp(withName(fmt.Sprint("p", i)), withChildren(fmt.Sprint("c", i))), types.UID(fmt.Sprint("uid-", i)))
			}
			c.Settle()
			for i := range 3 {
				if row.refuse != "" {
					c.Refuse[row.refuse+fmt.Sprint("c", i)] = errInvalid
				}
			}
			c.KubectlApply(row.manifest)
			for range 8 {
				c.advance(2 * time.Second)
			}
			if got := m.Each["apps"]; got.Halted != row.halted || got.Rejected != row.rejected {
				t.Errorf("halted %t, rejected %t; want %t, %t", got.Halted, got.Rejected, row.halted, row.rejected)
			}
			clear(c.Refuse)
			c.KubectlApply(edition(t, "three", staged))
			for range 8 {
				c.advance(2 * time.Second)
			}
			if got := m.Each["apps"]; got.Halted || got.Rejected {
				t.Errorf("corrected: halted %t, rejected %t", got.Halted, got.Rejected)
			}
		})
	}
}
