package problem

import (
	"fmt"
	"strings"

	"github.com/templater-dev/templater/internal/kube/object"
)

// MaxMessageLength is the maximum length of a condition message (metav1.Condition), in bytes. Counted in characters, a
// message is at most as long.
const MaxMessageLength = 32768

// Line sanitizes a message for conditions and Events: names in it, which others have chosen, cannot add lines, hide
// text or make it too long.
func Line(message string) string { return object.Line(message, MaxMessageLength) }

// MaxListed is the maximum number of similar items listed in a message.
const MaxListed = 3

// Join joins the first MaxListed parts, and adds how many more there are.
func Join(parts []string) string {
	return JoinFunc(parts, func(part string) string { return part })
}

// JoinFunc is Join for items that say converts to text.
func JoinFunc[T any](all []T, say func(T) string) string {
	var out strings.Builder
	for i, each := range all {
		if i == MaxListed {
			fmt.Fprintf(&out, "; and %d more", len(all)-MaxListed)
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

// Count returns a number with a noun: "1 parent", "0 parents", "2 parents".
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
