package controllers

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestParentsWithoutStatusSubresource(t *testing.T) {
	controller := with(t, apps, "kind: App", "kind: Statusless", "  status:\n    template: |\n      count: {{ len .children.maps }}\n", "")
	c := newCluster(t)
	c.KubectlApply(controller)
	c.KubectlApply(with(t, app, "kind: App", "kind: Statusless"))
	wantRequests(t, "no status subresource", c.Run(), "create configmaps a", "create configmaps b")
	if got, want := c.Condition("templatecontrollers", "apps", "StatusWritable"), `False NoStatusSubresource: Statusless has no status subresource: the ready condition is not written; add "subresources: {status: {}}" to its CustomResourceDefinition`; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	c.KubectlApply(with(t, controller, "  children:\n", "  status: {template: \"a: 1\"}\n  children:\n"))
	c.Run()
	if got, want := c.Condition("templatecontrollers", "apps", "Accepted"), `False NoStatusSubresource: spec.status.template: Statusless has no status subresource: add "subresources: {status: {}}" to version v1 of its CustomResourceDefinition`; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
}

func TestReadyConditionOfAnotherManagerIsKept(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	foreign := c.KubectlApply(app)
	foreign.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "Unknown"}}}
	memserver.Own(foreign, "other", "status", map[string]any{"f:status": map[string]any{"f:conditions": map[string]any{`k:{"type":"Ready"}`: map[string]any{"f:status": map[string]any{}}}}})
	c.Store(locationOf(foreign), foreign)
	c.Deliver()
	c.Run()
	status := c.Find("apps", "one").Object["status"].(map[string]any)
	want := map[string]any{"count": int64(2), "conditions": []any{map[string]any{"type": "Ready", "status": "Unknown"}}}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	c.controllers.queue.Add("apps")
	c.Run()
	if got, want := c.Condition("templatecontrollers", "apps", "StatusWritable"), "False ConditionOwned: another field manager owns the Ready condition of 1 parent, so templater does not write it there: set spec.status.readyCondition to another type"; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	version := c.Version
	c.start()
	c.Run()
	if c.Version != version {
		t.Error("an operator that has just begun writes that it does not know of the other manager yet")
	}
}

func TestReadyConditionInAtomicList(t *testing.T) {
	reconciletest.AtomicConditions(t)
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	wantRequests(t, "at first", c.Run(), "create configmaps a", "create configmaps b", "status apps one")
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "True ") {
		t.Errorf("ready condition %q, want True", got)
	}
	if got, want := c.writable("apps"), "True StatusWritable: the ready condition can be written to parents"; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	_, requests := c.Reconcile("apps", "one")
	wantRequests(t, "again", requests)

	theirs := []any{map[string]any{"type": "Synced", "status": "True"}}
	other := c.Find("apps", "one").DeepCopy()
	other.Object["status"].(map[string]any)["conditions"] = theirs
	memserver.Updated(other, "other", map[string]any{"f:status": map[string]any{"f:conditions": map[string]any{}}})
	c.Store(locationOf(other), other)
	c.KubectlApply(newApp(withChildren("a", "b", "c")))
	c.Settle()
	status := c.Find("apps", "one").Object["status"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"count": int64(3), "conditions": theirs}, status); diff != "" {
		t.Errorf("once another manager writes the list: status (-want +got):\n%s", diff)
	}
	if got := c.writable("apps"); !strings.HasPrefix(got, "False ConditionOwned: another field manager owns .status.conditions of 1 parent, ") {
		t.Errorf("condition %q, want False ConditionOwned", got)
	}
	_, requests = c.Reconcile("apps", "one")
	wantRequests(t, "again, beside another manager", requests)
}

// applies is a Client that records how each status is applied.
type applies struct {
	controller.Client
	refusesConditions bool // unless forced
	noted             *[]string
}

func (w applies) ApplyStatus(ctx context.Context, at request.Location, body []byte, manager string, force bool) (*object.Object, error) {
	text := "apply"
	if force {
		text = "force"
	}
	conditions := bytes.Contains(body, []byte(`"conditions":`))
	if conditions {
		text += " with conditions"
	}
	var after *object.Object
	var err error
	if w.refusesConditions && conditions && !force {
		err = refusal(http.StatusConflict, metav1.StatusReasonConflict, "Apply failed", metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: ".status.conditions"})
	} else {
		after, err = w.Client.ApplyStatus(ctx, at, body, manager, force)
	}
	if owned := request.OwnedFields(err); owned != nil {
		text += ", refused at " + strings.Join(owned, " ")
	}
	*w.noted = append(*w.noted, text)
	return after, err
}

// TestAtomicListOfAnotherManagerIsNotForced: the API server may know the other manager before templater does.
func TestAtomicListOfAnotherManagerIsNotForced(t *testing.T) {
	theirs := []any{map[string]any{"type": "Ready", "status": "Unknown", "reason": "Theirs", "message": ""}}
	for why, row := range map[string]struct {
		manager, owns string
		refused       bool
		want          []string
		foreign       bool
	}{
		"nobody else writes it":              {"", "", false, []string{"apply with conditions"}, false},
		"another manager owns the list":      {"other", "conditions", false, []string{"force"}, true},
		"a namesake owns the list":           {"templater/apps", "conditions", false, []string{"force"}, true},
		"the server alone knows its owner":   {"", "", true, []string{"apply with conditions, refused at .status.conditions", "force"}, true},
		"another manager owns another field": {"other", "count", false, []string{"apply with conditions, refused at .status.count", "force with conditions"}, false},
	} {
		t.Run(why, func(t *testing.T) {
			reconciletest.AtomicConditions(t)
			c := begun(t, apps, app)
			if row.manager != "" {
				other := c.Find("apps", "one").DeepCopy()
				other.Object["status"].(map[string]any)[row.owns] = map[string]any{"count": int64(7), "conditions": theirs}[row.owns]
				memserver.Updated(other, row.manager, map[string]any{"f:status": map[string]any{"f:" + row.owns: map[string]any{}}})
				c.Store(one, other)
			}
			c.KubectlApply(newApp(withChildren("a", "b", "c")))
			var noted []string
			of := c.controllers.get("apps")
			of.Cluster = applies{of.Cluster, row.refused, &noted}
			c.Run()
			if diff := cmp.Diff(row.want, noted); diff != "" {
				t.Errorf("applies (-want +got):\n%s", diff)
			}
			status := c.Find("apps", "one").Object["status"].(map[string]any)
			if kept := cmp.Equal(status["conditions"], theirs); row.owns == "conditions" && !kept || status["count"] != int64(3) {
				t.Errorf("status %v", status)
			}
			if got, want := c.writable("apps"), "False ConditionOwned: another field manager owns .status.conditions of 1 parent, "; strings.HasPrefix(got, want) != row.foreign {
				t.Errorf("StatusWritable is %q", got)
			}
			if row.refused { // until templater sees who owns the list, it tries in each reconciliation
				return
			}
			if _, requests := c.Reconcile("apps", "one"); len(requests) > 0 {
				t.Errorf("a second reconciliation makes %v", requests)
			}
		})
	}
}

func TestParentSummaryRecordsChildKinds(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	e := c.controllers.tracked["apps"]
	if got, want := e.counts.ByParent[configMapName("one")].Kinds, e.bits[schema.GroupKind{Kind: "ConfigMap"}]; got != want || got == 0 {
		t.Errorf("kinds %b, want %b", got, want)
	}
}
