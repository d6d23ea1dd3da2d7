package render

import (
	"slices"
	"strings"
)

// didYouMean returns "; did you mean X?" with the known word nearest to the
// given one, or "" when none is near.
func didYouMean(prefix, word string, known []string) string {
	best, least := "", len(word)/3+1
	for _, k := range known {
		d := distance(strings.ToLower(word), strings.ToLower(k))
		if d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + prefix + best + "?"
}

// distance is the Levenshtein distance of two words. Words too long to be
// typing errors count as far apart.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// sortedKeys returns the keys of m in order, without paying for it.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
