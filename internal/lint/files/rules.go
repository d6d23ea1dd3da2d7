package files

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rules are those of the CustomResourceDefinition in CEL, by their text, as functions that report whether a value obeys them. Those that
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
	"self.metadata.name.size() <= 63": func(v any) bool {
		name, _ := at(v, "metadata", "name").(string)
		return len(name) <= 63
	},
}

// at returns the value under keys of mappings within each other, or nil.
func at(v any, keys ...string) any {
	m, _ := v.(map[string]any)
	found, _, _ := unstructured.NestedFieldNoCopy(m, keys...)
	return found
}

func hasItems(v any, key string) bool {
	items, _ := at(v, key).([]any)
	return len(items) > 0
}
