package status

import (
	"strings"
	"testing"
)

func TestConditionTypeLengthIsLimited(t *testing.T) {
	for length, want := range map[int]bool{longestType: false, longestType + 1: true} {
		fault := (Conditions{}).fill(map[string]any{"type": strings.Repeat("!", length), "status": "True"}, "conditions[0]")
		if got := strings.Contains(fault, "longer than"); got != want {
			t.Errorf("%d characters: %q", length, fault)
		}
	}
}

func TestSetDefaultsOmitsUnsupportedGeneration(t *testing.T) {
	condition := map[string]any{"lastTransitionTime": "now"}
	if (Conditions{Generation: 3}).setDefaults(condition); len(condition) != 1 {
		t.Errorf("condition %v", condition)
	}
}

func TestConditionReasonLengthIsLimited(t *testing.T) {
	for length, want := range map[int]bool{longestReason: false, longestReason + 1: true} {
		fault := fillWords(map[string]any{"reason": strings.Repeat("A", length)}, "conditions[0]")
		if got := strings.Contains(fault, "longer than"); got != want {
			t.Errorf("%d characters: %q", length, fault)
		}
	}
}
