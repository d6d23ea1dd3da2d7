package reconcile

import (
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

func TestLongTypesOfConditions(t *testing.T) {
	p := &pass{Controller: &running.Controller{}}
	for length, want := range map[int]bool{longestType: false, longestType + 1: true} {
		fault := p.fillCondition(map[string]any{"type": strings.Repeat("!", length), "status": "True"}, "conditions[0]")
		if got := strings.Contains(fault, "longer than"); got != want {
			t.Errorf("%d characters: %q", length, fault)
		}
	}
}

func TestRoomForTheReadyCondition(t *testing.T) {
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
		p := &pass{Controller: &running.Controller{ReadyCondition: row.condition, Kind: kind.Kind{Status: row.status}}}
		if got := p.HoldsCondition(); got != row.want {
			t.Errorf("%s: %v, want %v", why, got, row.want)
		}
		if row.want {
			continue
		}
		p.parent = packed(t, parse(t, app))
		if got := p.withReady(map[string]any{}, verdict{}); len(got) > 0 {
			t.Errorf("%s: status %v, want it without a condition", why, got)
		}
	}
}

func TestConditionOfAKindWithoutStatus(t *testing.T) {
	condition := map[string]any{"lastTransitionTime": "now"}
	for _, status := range []*kind.StatusSchema{nil, {}} { // the second has no room for a generation
		p := &pass{Controller: &running.Controller{Kind: kind.Kind{Status: status}}, parent: packed(t, parse(t, app))}
		if p.setDefaults(condition); len(condition) != 1 {
			t.Errorf("condition %v", condition)
		}
	}
}

func TestLongReasonsOfConditions(t *testing.T) {
	for length, want := range map[int]bool{longestReason: false, longestReason + 1: true} {
		fault := fillWords(map[string]any{"reason": strings.Repeat("A", length)}, "conditions[0]")
		if got := strings.Contains(fault, "longer than"); got != want {
			t.Errorf("%d characters: %q", length, fault)
		}
	}
}
