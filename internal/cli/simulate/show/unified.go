package show

import (
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// around is the number of context lines.
const around = 3

// Unified returns the unified diff of two texts that end with a line end, "" if they are equal. from and to are their names.
func Unified(from, to, before, after string) string {
	if before == after {
		return ""
	}
	out, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: slices.Collect(strings.Lines(before)), B: slices.Collect(strings.Lines(after)), FromFile: from, ToFile: to, Context: around,
	})
	if err != nil {
		panic(err) // writing to a strings.Builder cannot fail
	}
	return out
}
