package lint

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/config/schema"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// patterns describes the patterns of the schema.
var patterns = map[string]string{
	`^(100|[1-9]?[0-9])%$`:                                              "a number of parents, or a percentage from 0% to 100%",
	`^[a-z][a-zA-Z0-9]*$`:                                               "a lower-case letter, then letters and digits, such as webServer",
	`^[A-Z][A-Za-z0-9]*$`:                                               "a capital letter, then letters and digits, such as LoadTest",
	`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+$`:                    "a group and a version, such as apps/v1, or v1 for the core kinds",
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`:                                   "lower-case letters, digits and hyphens, with a letter or digit at both ends",
	`^[a-z]([-a-z0-9]*[a-z0-9])?$`:                                      "a lower-case letter, then lower-case letters, digits and hyphens, with a letter or digit at the end",
	`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`:                                "lower-case letters, digits and hyphens, with a letter or digit at both ends",
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`: "lower-case letters, digits, hyphens and dots, with a letter or digit at both ends",
	`^([0-9]{1,5}(h|m|s|ms)){1,4}$`:                                     "a duration of whole numbers and h, m, s or ms, such as 90s or 1h30m",
	`^([1-9][0-9]?|100)%$`:                                              "a number of objects, or a percentage such as 25%",
	`^([A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?)?$`:                    "letters, digits, '-', '_', '.' and '/', with a letter or digit at both ends, such as Ready",
}

// compiled holds the compiled patterns of the schema.
var compiled = sync.OnceValue(func() map[string]*regexp.Regexp {
	all := map[string]*regexp.Regexp{}
	for pattern := range patterns {
		all[pattern] = regexp.MustCompile(pattern)
	}
	return all
})

// checkFields says which fields of a TemplateController hold what the API server does not take. Of which type they are
// is known already.
func checkFields(content map[string]any) []finding.Finding {
	c := &fields{}
	root := *schema.TemplateController()
	if content["kind"] == v1.KindNamespacedTemplateController {
		root.Rules = root.NamespacedRules
	}
	c.check(&root, "", content)
	return c.found
}

// fields compares values with the schema.
type fields struct{ found []finding.Finding }

func (c *fields) wrong(where, format string, args ...any) {
	c.found = append(c.found, finding.Finding{Code: finding.FieldValue, Severity: finding.Error, Where: where, Message: fmt.Sprintf(format, args...)})
}

func (c *fields) check(n *schema.Node, where string, v any) {
	switch v := v.(type) {
	case map[string]any:
		c.checkMap(n, where, v)
	case []any:
		if n.MaxItems != nil && len(v) > *n.MaxItems {
			c.wrong(where, "too many entries: %d; the limit is %d", len(v), *n.MaxItems)
		}
		if n.Items != nil {
			for i, item := range v {
				c.check(n.Items, where+"["+nameOf(item, i)+"]", item)
			}
		}
	case string:
		if !c.checkText(n, where, v) {
			return
		}
	case int64:
		if n.Minimum != nil && v < *n.Minimum || n.Maximum != nil && v > *n.Maximum {
			c.wrong(where, "%s", bounds(n))
		}
	}
	c.checkRules(n, where, v)
}

func (c *fields) checkRules(n *schema.Node, where string, v any) {
	for _, r := range n.Rules {
		if obeys := rules[r.Rule]; obeys != nil && !obeys(v) {
			c.wrong(cmp.Or(strings.TrimPrefix(where+r.Path, "."), "metadata.name"), "%s", r.Message) // a rule of the whole object without a path is about its name
		}
		if violations := outside[r.Rule]; violations != nil {
			for _, field := range violations(v) {
				c.wrong(field, "%s", r.Message)
			}
		}
	}
}

func (c *fields) checkMap(n *schema.Node, where string, m map[string]any) {
	for _, key := range n.Required {
		if m[key] == nil {
			c.wrong(where, "%s is missing", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if p := n.Properties[key]; p != nil {
			c.check(p, strings.TrimPrefix(where+"."+key, "."), m[key])
		}
	}
}

// checkText checks the length and the pattern of a string.
func (c *fields) checkText(n *schema.Node, where, text string) bool {
	length := utf8.RuneCountInString(text)
	switch {
	case len(n.Enum) > 0 && !slices.Contains(n.Enum, text):
		c.wrong(where, "write %s%s", problem.Or(n.Enum), syntax.DidYouMean(syntax.Nearest(text, n.Enum)))
	case n.MinLength != nil && length < *n.MinLength:
		c.wrong(where, "too short: %d characters, the minimum is %d", length, *n.MinLength)
	case n.MaxLength != nil && length > *n.MaxLength:
		c.wrong(where, "too long: %d characters; the limit is %d", length, *n.MaxLength)
	case n.Pattern != "" && !compiled()[n.Pattern].MatchString(text):
		c.wrong(where, "write %s", patterns[n.Pattern])
	default:
		return true
	}
	return false
}

func bounds(n *schema.Node) string {
	switch {
	case n.Maximum == nil:
		return fmt.Sprintf("write a number of at least %d", *n.Minimum)
	case n.Minimum == nil:
		return fmt.Sprintf("write a number of at most %d", *n.Maximum)
	}
	return fmt.Sprintf("write a number from %d to %d", *n.Minimum, *n.Maximum)
}

// nameOf returns the name of a list item, or its index if it has none.
func nameOf(item any, i int) string {
	m, _ := item.(map[string]any)
	if name, _ := m["name"].(string); name != "" && !strings.ContainsAny(name, "[].'\n") {
		return name
	}
	return fmt.Sprint(i)
}

// rules maps the CEL rules of the CustomResourceDefinition to functions that report whether a value is valid. Rules that
// spec.Compile checks, and those about changes, are left out.
var rules = map[string]func(v any) bool{
	"has(self.children) && self.children.size() > 0 || has(self.status) && has(self.status.template)": func(v any) bool {
		return hasItems(v, "children") || at(v, "status", "template") != nil
	},
	"has(self.order) && self.order == 'Reverse' || has(self.children) && self.children.size() > 0": func(v any) bool {
		return at(v, "order") == "Reverse" || hasItems(v, "children")
	},
	"self.trim().size() > 0": func(v any) bool {
		text, isText := v.(string)
		return !isText || strings.TrimSpace(text) != ""
	},
	"!has(self.logs) || (self.apiVersion == 'v1' && self.kind == 'Pod')": func(v any) bool {
		return at(v, "logs") == nil || at(v, "apiVersion") == "v1" && at(v, "kind") == "Pod"
	},
	"self.metadata.name.size() <= 63":       func(v any) bool { return len(objectName(v)) <= 63 },
	"self.metadata.name.size() <= 60":       func(v any) bool { return len(objectName(v)) <= 60 },
	"!self.metadata.name.startsWith('ns.')": func(v any) bool { return !strings.HasPrefix(objectName(v), "ns.") },
	"!has(self.spec.serviceAccountRef) || has(self.spec.serviceAccountRef.namespace)": func(v any) bool {
		return at(v, "spec", "serviceAccountRef") == nil || at(v, "spec", "serviceAccountRef", "namespace") != nil
	},
	// NamespacedTemplateControllers
	"has(self.spec.serviceAccountRef)": func(v any) bool { return at(v, "spec", "serviceAccountRef") != nil },
	"!has(self.spec.serviceAccountRef) || !has(self.spec.serviceAccountRef.namespace)": func(v any) bool {
		return at(v, "spec", "serviceAccountRef", "namespace") == nil
	},
	"!has(self.spec.crd)": func(v any) bool { return at(v, "spec", "crd") == nil },
}

// outside maps the CEL rules of NamespacedTemplateControllers about several fields to functions that return the fields with which a
// TemplateController leaves its namespace.
var outside = map[string]func(v any) []string{
	"!has(self.spec.watch.namespaces) && !has(self.spec.watch.namespaceSelector)": func(v any) []string {
		return present(at(v, "spec", "watch"), "spec.watch", "namespaces", "namespaceSelector")
	},
	"!has(self.spec.related) || self.spec.related.all(r, !has(r.namespaces) && !has(r.namespaceSelector))": func(v any) []string {
		return ofItems(at(v, "spec", "related"), "spec.related", func(item any, where string) []string { return present(item, where, "namespaces", "namespaceSelector") })
	},
	"!has(self.spec.children) || self.spec.children.all(c, !has(c.scope) || c.scope == 'Namespaced')": func(v any) []string {
		return ofItems(at(v, "spec", "children"), "spec.children", scopeCluster)
	},
	"!has(self.spec.finalize) || !has(self.spec.finalize.children) || self.spec.finalize.children.all(c, !has(c.scope) || c.scope == 'Namespaced')": func(v any) []string {
		return ofItems(at(v, "spec", "finalize", "children"), "spec.finalize.children", scopeCluster)
	},
}

// present returns the fields of a mapping that are set, of those with these names.
func present(v any, where string, names ...string) (fields []string) {
	for _, name := range names {
		if at(v, name) != nil {
			fields = append(fields, where+"."+name)
		}
	}
	return fields
}

func scopeCluster(v any, where string) []string {
	if at(v, "scope") != string(v1.ScopeCluster) {
		return nil
	}
	return []string{where + ".scope"}
}

// ofItems returns what of returns for each item of a list.
func ofItems(list any, where string, of func(item any, where string) []string) (fields []string) {
	items, _ := list.([]any)
	for i, item := range items {
		fields = append(fields, of(item, where+"["+nameOf(item, i)+"]")...)
	}
	return fields
}

func objectName(v any) string {
	name, _ := at(v, "metadata", "name").(string)
	return name
}

// at returns the value at a path of keys in nested mappings, or nil.
func at(v any, keys ...string) any {
	m, _ := v.(map[string]any)
	found, _, _ := unstructured.NestedFieldNoCopy(m, keys...)
	return found
}

func hasItems(v any, key string) bool {
	items, _ := at(v, key).([]any)
	return len(items) > 0
}
