package problem

import (
	"fmt"
	"strings"

	"github.com/templater-dev/templater/internal/kube/object"
)

// LongestMessage is how many bytes the message of a condition may have, by the convention that schemas follow
// (metav1.Condition): it is short enough however characters are counted.
const LongestMessage = 32768

// Line is each message of templater's own as conditions and Events have it: what others have chosen, as the names in it, cannot
// break its line, hide in it or make it too long.
func Line(message string) string { return object.Line(message, LongestMessage) }

// MostListed is how many of the same sort a message names.
const MostListed = 3

// Join joins the first of them, and says how many more there are.
func Join(parts []string) string {
	return JoinFunc(parts, func(part string) string { return part })
}

// JoinFunc is Join for things that are yet to be put into words.
func JoinFunc[T any](all []T, say func(T) string) string {
	var out strings.Builder
	for i, each := range all {
		if i == MostListed {
			fmt.Fprintf(&out, "; and %d more", len(all)-MostListed)
			break
		}
		if i > 0 {
			out.WriteString("; ")
		}
		out.WriteString(say(each))
	}
	return out.String()
}

// And joins words: "a, b and c".
func And(words []string) string { return joined(words, " and ") }

// Or joins words: "a, b or c".
func Or(words []string) string { return joined(words, " or ") }

func joined(words []string, before string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + before + words[last]
}

// Count counts things: "1 parent", "0 parents", "2 parents".
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
