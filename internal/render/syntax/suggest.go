package syntax

import (
	"maps"
	"slices"
	"strings"
)

// Nearest returns the known word nearest to the given one, or the only one that begins with it, or "" when there is
// none.
func Nearest(word string, known []string) string {
	best, least := "", len(word)/3+1
	for _, k := range known {
		d := distance(strings.ToLower(word), strings.ToLower(k))
		if d < least {
			best, least = k, d
		}
	}
	if best == "" {
		best = onlyOne(word, known)
	}
	return best
}

// DidYouMean returns the suggestion as text, or "" for none.
func DidYouMean(word string) string {
	if word == "" {
		return ""
	}
	return "; did you mean " + word + "?"
}

// onlyOne returns the only known word that begins with the given one, or "". Words of one or two letters are too short.
func onlyOne(word string, known []string) string {
	const shortest = 3
	only := ""
	for _, k := range known {
		switch {
		case len(word) < shortest || !strings.HasPrefix(strings.ToLower(k), strings.ToLower(word)):
		case only != "":
			return ""
		default:
			only = k
		}
	}
	return only
}

// distance is the number of letters to add, to leave out, to replace, or to
// swap with their neighbor, to make one word of the other: the optimal string
// alignment distance. Words too long to be typing errors count as far apart.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	var rows [3][longest + 1]int // for a without its last two letters, without its last, and whole
	for j := range len(b) + 1 {
		rows[2][j] = j
	}
	for i := range len(a) {
		rows[0], rows[1] = rows[1], rows[2]
		rows[2][0] = i + 1
		for j := range len(b) {
			change := rows[1][j]
			if a[i] != b[j] {
				change++
			}
			rows[2][j+1] = min(change, rows[2][j]+1, rows[1][j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				rows[2][j+1] = min(rows[2][j+1], rows[0][j-1]+1)
			}
		}
	}
	return rows[2][len(b)]
}

// sorted returns the sorted keys of m.
func sorted[V any](m map[string]V) []string {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}
