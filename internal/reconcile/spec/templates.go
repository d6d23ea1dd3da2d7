package spec

import (
	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Template returns the text of a template by its name in findings, or "".
func Template(spec *v1.TemplateControllerSpec, name string) string {
	switch {
	case name == "helpers":
		return spec.Helpers
	case name == "status" && spec.Status != nil:
		return spec.Status.Template
	case name == syntax.FilterName:
		return spec.Watch.Filter
	}
	for _, related := range spec.Related {
		if name == syntax.SelectName(related.Name) {
			return related.Select
		}
	}
	for child := range allEntries(spec) {
		switch name {
		case syntax.ChildName(child.Name):
			return child.Template
		case syntax.ReadyWhenName(child.Name):
			return child.ReadyWhen
		}
	}
	return ""
}
