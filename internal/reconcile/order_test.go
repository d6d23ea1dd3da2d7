package reconcile

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNamesAreOrderedAsPeopleDo(t *testing.T) {
	for _, want := range [][]string{
		{"p-2", "p-10"},
		{"p-09", "p-10"},
		{"p-0", "p-1", "p-9", "p-10"},
		{"aa", "b"},           // not by length
		{"a--b", "a."},        // signs are no digits
		{"p", "p-1", "p-1-a"}, // the shorter first
		{"p-01", "p-1"},       // the same number: by its text
	} {
		got := slices.Clone(want)
		slices.Reverse(got)
		slices.SortFunc(got, compareNatural)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	}
}
