package diff

import (
	"maps"

	"github.com/templater-dev/templater/internal/cli/simulate"
)

// applied predicts a live object after wanted is applied instead of was: differences between these two
// change, and values of others, such as defaults, are kept. It is used if there is no dry run.
func applied(live, was, wanted any) any {
	switch wanted := wanted.(type) {
	case map[string]any:
		if live, ok := live.(map[string]any); ok {
			return appliedMap(live, simulate.Map(was), wanted)
		}
	case []any:
		if live, ok := live.([]any); ok && len(live) == len(wanted) {
			return appliedList(live, was, wanted)
		}
	}
	return wanted
}

func appliedMap(live, was, wanted map[string]any) map[string]any {
	out := maps.Clone(live)
	for key := range was {
		if _, stays := wanted[key]; !stays {
			delete(out, key)
		}
	}
	for key, value := range wanted {
		out[key] = applied(live[key], was[key], value)
	}
	return out
}

// appliedList merges lists of equal length by index.
func appliedList(live []any, was any, wanted []any) []any {
	before, _ := was.([]any)
	out := make([]any, len(wanted))
	for i := range wanted {
		var then any
		if len(before) == len(wanted) {
			then = before[i]
		}
		out[i] = applied(live[i], then, wanted[i])
	}
	return out
}
