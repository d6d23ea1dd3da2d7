package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDropRejectedFields(t *testing.T) {
	for why, row := range map[string]struct {
		paths []string
		want  map[string]any
		found bool
	}{
		"a field":                        {[]string{".status.a"}, map[string]any{"b.c": "x", "l": []any{map[string]any{"d": "y"}}}, true},
		"a key with a dot":               {[]string{".status.b.c"}, map[string]any{"a": "z", "l": []any{map[string]any{"d": "y"}}}, true},
		"a field of an item":             {[]string{".status.l[0].d"}, map[string]any{"a": "z", "b.c": "x", "l": []any{map[string]any{}}}, true},
		"an item that is not there":      {[]string{".status.l[7].d"}, map[string]any{"a": "z", "b.c": "x", "l": []any{map[string]any{"d": "y"}}}, false},
		"an item by its key":             {[]string{`.status.l[name="q"].d`}, map[string]any{"a": "z", "b.c": "x", "l": []any{map[string]any{"d": "y"}}}, false},
		"a field that was never written": {[]string{".status.q", ".spec.a"}, map[string]any{"a": "z", "b.c": "x", "l": []any{map[string]any{"d": "y"}}}, false},
	} {
		t.Run(why, func(t *testing.T) {
			status := map[string]any{"a": "z", "b.c": "x", "l": []any{map[string]any{"d": "y"}}}
			if found := DropRefused(status, row.paths); found != row.found {
				t.Errorf("found = %v, want %v", found, row.found)
			}
			if diff := cmp.Diff(row.want, status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}
