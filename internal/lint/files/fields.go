package files

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/templater-dev/templater/config/schema"
	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// node is a part of the JSON schema of TemplateControllers, in the words that it has.
type node struct {
	Properties map[string]*node `json:"properties"`
	Required   []string         `json:"required"`
	Items      *node            `json:"items"`
	Enum       []string         `json:"enum"`
	Pattern    string           `json:"pattern"`
	MinLength  *int             `json:"minLength"`
	MaxLength  *int             `json:"maxLength"`
	MaxItems   *int             `json:"maxItems"`
	Minimum    *int64           `json:"minimum"`
	Maximum    *int64           `json:"maximum"`

	matches *regexp.Regexp
}

// patterns says in words what the patterns of the schema ask for.
var patterns = map[string]string{
	`^[a-z][a-zA-Z0-9]*$`:                                               "a lower-case letter, then letters and digits, such as webServer",
	`^[A-Z][A-Za-z0-9]*$`:                                               "a capital letter, then letters and digits, such as LoadTest",
	`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+$`:                    "a group and a version, such as apps/v1, or v1 for the core kinds",
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`:                                   "lower-case letters, digits and hyphens, with a letter or digit at both ends",
	`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`:                                "lower-case letters, digits and hyphens, with a letter or digit at both ends",
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`: "lower-case letters, digits, hyphens and dots, with a letter or digit at both ends",
	`^([0-9]{1,5}(h|m|s|ms)){1,4}$`:                                     "a duration of whole numbers and h, m, s or ms, such as 90s or 1h30m",
	`^([1-9][0-9]?|100)%$`:                                              "a number of objects, or a percentage such as 25%",
	`^([A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?)?$`:                    "letters, digits, '-', '_', '.' and '/', with a letter or digit at both ends, such as Ready",
}

// readSchema reads the schema, which is part of the program.
var readSchema = sync.OnceValue(func() *node {
	root := &node{}
	if err := json.Unmarshal(schema.TemplateController, root); err != nil {
		panic("the schema of TemplateControllers: " + err.Error())
	}
	root.compile()
	return root
})

func (n *node) compile() {
	if n == nil {
		return
	}
	if n.Pattern != "" {
		n.matches = regexp.MustCompile(n.Pattern)
	}
	n.Items.compile()
	for _, p := range n.Properties {
		p.compile()
	}
}

// checkFields says which fields of a TemplateController hold what the API server does not take. Of which type they are
// is known already.
func checkFields(content map[string]any) []finding.Finding {
	var found []finding.Finding
	readSchema().check("", content, func(where, format string, args ...any) {
		found = append(found, finding.Finding{Code: finding.FieldValue, Severity: finding.Error, Where: where, Message: fmt.Sprintf(format, args...)})
	})
	return found
}

func (n *node) check(where string, v any, wrong func(where, format string, args ...any)) {
	switch v := v.(type) {
	case map[string]any:
		n.checkMap(where, v, wrong)
	case []any:
		if n.MaxItems != nil && len(v) > *n.MaxItems {
			wrong(where, "%d entries are too many: give at most %d", len(v), *n.MaxItems)
		}
		if n.Items != nil {
			for i, item := range v {
				n.Items.check(where+"["+nameOf(item, i)+"]", item, wrong)
			}
		}
	case string:
		n.checkText(where, v, wrong)
	case int64:
		if n.Minimum != nil && v < *n.Minimum || n.Maximum != nil && v > *n.Maximum {
			wrong(where, "%s", n.bounds())
		}
	}
}

func (n *node) checkMap(where string, m map[string]any, wrong func(where, format string, args ...any)) {
	for _, key := range n.Required {
		if m[key] == nil {
			wrong(where, "%s is missing", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if p := n.Properties[key]; p != nil {
			p.check(strings.TrimPrefix(where+"."+key, "."), m[key], wrong)
		}
	}
}

func (n *node) checkText(where, text string, wrong func(where, format string, args ...any)) {
	length := utf8.RuneCountInString(text)
	switch {
	case len(n.Enum) > 0 && !slices.Contains(n.Enum, text):
		hint := ""
		if nearest := syntax.Nearest(text, n.Enum); nearest != "" {
			hint = "; did you mean " + nearest + "?"
		}
		wrong(where, "write %s%s", problem.Or(n.Enum), hint)
	case n.MinLength != nil && length < *n.MinLength:
		wrong(where, "%d characters are too few: write at least %d", length, *n.MinLength)
	case n.MaxLength != nil && length > *n.MaxLength:
		wrong(where, "%d characters are too many: write at most %d", length, *n.MaxLength)
	case n.matches != nil && !n.matches.MatchString(text):
		wrong(where, "write %s", patterns[n.Pattern])
	}
}

func (n *node) bounds() string {
	switch {
	case n.Maximum == nil:
		return fmt.Sprintf("write a number from %d on", *n.Minimum)
	case n.Minimum == nil:
		return fmt.Sprintf("write a number up to %d", *n.Maximum)
	}
	return fmt.Sprintf("write a number from %d to %d", *n.Minimum, *n.Maximum)
}

// nameOf returns how an item of a list is called: by its name if it has one.
func nameOf(item any, i int) string {
	m, _ := item.(map[string]any)
	if name, _ := m["name"].(string); name != "" && !strings.ContainsAny(name, "[].'\n") {
		return name
	}
	return fmt.Sprint(i)
}
