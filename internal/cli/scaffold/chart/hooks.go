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

// momentsOf returns the events of the first hook of a template, such as pre-install, pre-delete; "" = no hook.
func momentsOf(template string) string {
	if found := hook.FindStringSubmatch(template); found != nil {
		return strings.TrimSpace(found[1])
	}
	return ""
}

// byHook splits a template into one for objects without a hook, and one per hook. Each has all lines, so that
// line numbers do not change, with marks in place of other objects. It returns false if a block or variable spans several of them.
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

// documentsOf splits a template at the beginnings of YAML documents.
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

// hookMark replaces an annotation of a hook, or an object of another hook, so that line numbers do not change until the template is checked.
const hookMark = "# helm.sh/hook\n"

// withoutMarks removes the marks, and annotations keys that only contained marks.
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

// isEmptied reports whether a line is an annotations key without content: the next remaining line does not belong to it. An action can
// print anything.
func isEmptied(line, next string) bool {
	return strings.TrimSpace(line) == "annotations:" && !strings.HasPrefix(strings.TrimSpace(next), "{{") && indent(next) <= indent(line)
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// alsoBefore returns a note about the events of a hook that are not deletions.
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
	return ", but no longer at " + strings.Join(lost, ", ") + ": for that, also add them to spec.children"
}
