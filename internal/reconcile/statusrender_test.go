package reconcile

import (
	"testing"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

func TestReadyConditionRequiresStatusConditions(t *testing.T) {
	for why, row := range map[string]struct {
		condition string
		status    *kind.StatusSchema
		want      bool
	}{
		"there is room":                {"Ready", &kind.StatusSchema{}, true},
		"none is to be set":            {"", &kind.StatusSchema{}, false},
		"the kind has no status":       {"Ready", nil, false},
		"its status has no conditions": {"Ready", &kind.StatusSchema{Conditions: "no room"}, false},
	} {
		t.Run(why, func(t *testing.T) {
			rec := reconciling(nil, &controller.Controller{Definition: controller.Definition{ReadyCondition: row.condition}, Caches: controller.Caches{Kind: kind.Kind{Status: row.status}}}, packed(t, parse(t, app)))
			if got := rec.HoldsCondition(); got != row.want {
				t.Errorf("%v, want %v", got, row.want)
			}
			if row.want {
				return
			}
			if got := rec.status.withReady(map[string]any{}, status.Verdict{}); len(got) > 0 {
				t.Errorf("status %v, want it without a condition", got)
			}
		})
	}
}

func TestConditionOmitsUnsupportedGeneration(t *testing.T) {
	for _, status := range []*kind.StatusSchema{nil, {}} { // the second has no observedGeneration
		rec := reconciling(&Reconciler{}, &controller.Controller{Caches: controller.Caches{Kind: kind.Kind{Status: status}}}, packed(t, parse(t, app)))
		if rec.status.conditions().Generations {
			t.Errorf("%v: a condition is to tell of a generation", status)
		}
	}
}
