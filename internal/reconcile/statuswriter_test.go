package reconcile

import (
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

func TestRemovedStatusIsReadAsEmpty(t *testing.T) {
	parent := parse(t, app)
	parent.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{
		"manager": "templater/apps", "operation": "Apply", "subresource": "status", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:status": map[string]any{}},
	}}
	rec := reconciling(nil, &controller.Controller{Definition: controller.Definition{Manager: "templater/apps"}}, packed(t, parent))
	if got := rec.status.own(); got == nil || len(got) > 0 {
		t.Errorf("kept %v, want an empty mapping, to which a condition can be added", got)
	}
}

func TestForeignStatusIsNotKept(t *testing.T) {
	parent := parse(t, with(t, app, "spec:", "status: {count: 1}\nspec:"))
	rec := reconciling(nil, &controller.Controller{Definition: controller.Definition{Manager: "templater/apps"}}, packed(t, parent))
	if got := rec.status.own(); len(got) > 0 {
		t.Errorf("kept %v, want nothing: it is somebody else's", got)
	}
}

func TestContentHashIgnoresConditions(t *testing.T) {
	kept := map[string]any{"conditions": []any{}}
	if status.ContentHash(kept); len(kept) != 1 {
		t.Error("the status has lost its conditions")
	}
	content := func(count int64, since string) map[string]any {
		return map[string]any{"count": count, "conditions": []any{map[string]any{"lastTransitionTime": since}}}
	}
	if status.ContentHash(content(1, "now")) != status.ContentHash(content(1, "then")) || status.ContentHash(content(1, "now")) == status.ContentHash(content(2, "now")) {
		t.Error("a status is told by its conditions, or not by the rest")
	}
}

func TestPendingPlanIsNotReady(t *testing.T) {
	rec := reconciling(nil, &controller.Controller{}, nil)
	rec.status.plan, rec.status.childSummary = plan.Plan{Pending: 1}, status.ChildSummary{Wanted: 1, Ready: 1}
	if got := rec.status.verdict(); got.Status != "False" || got.Reason != v1.ReasonProgressing {
		t.Errorf("verdict %+v", got)
	}
	if got, want := (status.ChildSummary{Wanted: 1}).Progress(), "0 of 1 children are ready"; got != want {
		t.Errorf("progress %q, want %q", got, want)
	}
}

func TestWaitingIsNotCountedAsFailure(t *testing.T) {
	fault, waiting := &problem.Problem{Reason: "A", Message: "fault"}, &problem.Problem{Reason: "B", Message: "waiting", Waiting: true}
	for want, all := range map[bool]problem.List{true: {waiting, fault}, false: {waiting}} {
		t.Run(all.Message(), func(t *testing.T) {
			rec := &reconciliation{problems: all}
			if got := rec.failed(); got != want {
				t.Errorf("%s: failed is %v", all.Message(), got)
			}
		})
	}
}

func TestReportedFaultsAreKeptDuringOtherProblem(t *testing.T) {
	events := record.NewEventRecorder(record.EventOptions{Clock: clock.RealClock{}})
	reported := []string{".a: bad"}
	rec := reconciling(&Reconciler{Options: Options{Recorder: events}}, &controller.Controller{}, nil)
	rec.problems = problem.List{{Message: "no"}}
	events.Faults(rec.key, "x", reported)
	rec.status.verdict()
	if got := events.Faults(rec.key, "x", nil); !slices.Equal(got, reported) {
		t.Errorf("faults %q, want %q", got, reported)
	}
}

func TestUnfitErrorsAllowSmallerWrite(t *testing.T) {
	for why, row := range map[string]struct {
		err  error
		want bool
	}{
		"none":                  {nil, false},
		"too large":             {refusal(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, ""), true},
		"too large for etcd":    {refusal(http.StatusInternalServerError, "", "etcdserver: request is too large"), true},
		"too long":              {refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, ""), true},
		"bad":                   {refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest, ""), true},
		"another version":       {refusal(http.StatusConflict, metav1.StatusReasonConflict, ""), false},
		"not allowed":           {refusal(http.StatusForbidden, metav1.StatusReasonForbidden, ""), false},
		"too busy":              {refusal(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, ""), false},
		"no such field":         {refusal(http.StatusInternalServerError, "", ".status.count: field not declared in schema"), false},
		"no answer of a server": {http.ErrHandlerTimeout, false},
	} {
		t.Run(why, func(t *testing.T) {
			if got := problem.TooLarge(row.err); got != row.want {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}
