package chart

import (
	"regexp"
	"strings"
)

var (
	hook     = regexp.MustCompile(`(?m)^[^#\n]*["']?helm\.sh/hook["']?\s*:\s*["']?([a-z, -]+)`)
	hookLine = regexp.MustCompile(`(?m)^[ \t]*["']?helm\.sh/hook[a-z-]*["']?[ \t]*:.*\n`)
)

// hookMark stands where an annotation of a hook was, so that all lines keep their numbers until they have been checked.
const hookMark = "# helm.sh/hook\n"

// markHooks puts a mark in the place of each annotation of a hook.
func markHooks(text string) string { return hookLine.ReplaceAllLiteralString(text, hookMark) }

// withoutMarks takes the marks away, and a key annotations that had nothing but them.
func withoutMarks(text string) string {
	lines := strings.SplitAfter(text, "\n")
	var out strings.Builder
	for i := 0; i < len(lines); i++ {
		if lines[i] == hookMark {
			continue
		}
		next := i + 1
		for next < len(lines) && lines[next] == hookMark {
			next++
		}
		if next == i+1 || !isEmptied(lines[i], lines[min(next, len(lines)-1)]) {
			out.WriteString(lines[i])
		}
	}
	return out.String()
}

// isEmptied reports whether a line is a key annotations to which the line that is left after it does not belong. An action may
// print anything.
func isEmptied(line, next string) bool {
	return strings.TrimSpace(line) == "annotations:" && !strings.HasPrefix(strings.TrimSpace(next), "{{") && indent(next) <= indent(line)
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// alsoBefore tells of the moments of a hook that are not those of a deletion.
func alsoBefore(moments string) string {
	var lost []string
	for moment := range strings.SplitSeq(moments, ",") {
		if moment = strings.TrimSpace(moment); moment != "" && !strings.HasSuffix(moment, "-delete") {
			lost = append(lost, moment)
		}
	}
	if len(lost) == 0 {
		return ""
	}
	return ", and not at " + strings.Join(lost, ", ") + ": for that, make its objects an entry of spec.children, too"
}
