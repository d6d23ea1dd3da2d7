package show

import (
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// around is how many lines before and after each difference are shown.
const around = 3

// Unified returns the unified diff of two texts whose lines all end, "" where they are the same. from and to name them.
func Unified(from, to, before, after string) string {
	if before == after {
		return ""
	}
	out, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: slices.Collect(strings.Lines(before)), B: slices.Collect(strings.Lines(after)), FromFile: from, ToFile: to, Context: around,
	})
	if err != nil {
		panic(err) // a strings.Builder takes all
	}
	return out
}
