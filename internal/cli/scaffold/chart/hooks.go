package chart

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/document"
)

var (
	hook     = regexp.MustCompile(`(?m)^[^#\n]*["']?helm\.sh/hook["']?\s*:\s*["']?([a-z, -]+)`)
	hookLine = regexp.MustCompile(`(?m)^[ \t]*["']?helm\.sh/hook[a-z-]*["']?[ \t]*:.*\n`)
)

// object is the kind of an object in a template.
var object = regexp.MustCompile(`(?m)^[ \t]*["']?kind["']?[ \t]*:`)

// momentsOf returns when the first hook of a template runs, such as pre-install, pre-delete; "" means that it has no hook.
func momentsOf(template string) string {
	if found := hook.FindStringSubmatch(template); found != nil {
		return strings.TrimSpace(found[1])
	}
	return ""
}

// byHook divides a template into one for the objects that are no hooks, and one for those of each hook. Each has all lines, so that
// these keep their numbers, with marks in place of other objects. It returns false where a block or a variable spans them.
func byHook(template string) (parts []string, ok bool) {
	documents := documentsOf(template)
	all := map[string]bool{}
	for _, document := range documents {
		if object.MatchString(document) {
			all[momentsOf(document)] = true
		}
	}
	if len(all) < 2 {
		return []string{template}, true
	}
	for _, moments := range slices.Sorted(maps.Keys(all)) {
		var part strings.Builder
		for _, document := range documents {
			if object.MatchString(document) && momentsOf(document) != moments {
				document = strings.Repeat(hookMark, strings.Count(document, "\n"))
			}
			part.WriteString(document)
		}
		if !parses(part.String()) {
			return nil, false
		}
		parts = append(parts, part.String())
	}
	return parts, true
}

// documentsOf divides a template at the lines that begin a document of YAML.
func documentsOf(template string) []string {
	documents := []string{""}
	for line := range strings.Lines(template) {
		if document.BeginsDocument(line) {
			documents = append(documents, "")
		}
		documents[len(documents)-1] += line
	}
	return documents
}

func parses(template string) bool {
	tree := parse.New("")
	tree.Mode = parse.SkipFuncCheck
	_, err := tree.Parse(template, "", "", map[string]*parse.Tree{})
	return err == nil
}

// hookMark stands where an annotation of a hook was, or an object of another hook, so that all lines keep their numbers until they have been checked.
const hookMark = "# helm.sh/hook\n"

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
