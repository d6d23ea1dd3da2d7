package files

import (
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/finding"
)

// rule is one of the CustomResourceDefinition that takes more than a field.
type rule struct {
	message string // that of the API server
	broken  func(tc *v1.TemplateController) (where []string)
}

// rules are those of the CustomResourceDefinition in CEL, but for those that spec.Compile has, too, and those about changes.
var rules = []rule{
	{"nothing to do: give at least one entry in children, or status.template", func(tc *v1.TemplateController) []string {
		return only("spec", len(tc.Spec.Children) == 0 && (tc.Spec.Status == nil || tc.Spec.Status.Template == ""))
	}},
	{"nothing to do: set order to Reverse, or give at least one entry in children", func(tc *v1.TemplateController) []string {
		f := tc.Spec.Finalize
		return only("spec.finalize", f != nil && f.Order != v1.FinalizeReverse && len(f.Children) == 0)
	}},
	{"the template is empty", func(tc *v1.TemplateController) (where []string) {
		all := map[string][]v1.Child{"spec.children": tc.Spec.Children}
		if tc.Spec.Finalize != nil {
			all["spec.finalize.children"] = tc.Spec.Finalize.Children
		}
		for list, entries := range all {
			for _, c := range entries {
				where = append(where, only(list+"["+c.Name+"].template", c.Template != "" && strings.TrimSpace(c.Template) == "")...)
			}
		}
		return where
	}},
	{"logs are those of Pods: remove logs, or write apiVersion: v1 and kind: Pod", func(tc *v1.TemplateController) (where []string) {
		for _, r := range tc.Spec.Related {
			where = append(where, only("spec.related["+r.Name+"].logs", r.Logs != nil && (r.APIVersion != "v1" || r.Kind != "Pod"))...)
		}
		return where
	}},
	{"metadata.name must be at most 63 characters: it becomes the value of a label on each child", func(tc *v1.TemplateController) []string {
		return only("metadata.name", len(tc.Name) > 63)
	}},
}

// only returns that place if the rule is broken there.
func only(where string, broken bool) []string {
	if broken {
		return []string{where}
	}
	return nil
}

// checkRules says which of the rules are broken.
func checkRules(tc *v1.TemplateController) []finding.Finding {
	var found []finding.Finding
	for _, r := range rules {
		for _, where := range r.broken(tc) {
			found = append(found, finding.Finding{Code: finding.FieldValue, Severity: finding.Error, Where: where, Message: r.message})
		}
	}
	return found
}
