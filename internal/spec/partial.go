package spec

import (
	"errors"
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// mostRounds is how often Partial leaves something out: what is broken, what calls that, and what the first findings have hidden.
const mostRounds = 4

// Partial compiles the templates of a spec that make sense, so that more can be said of these, though others or the rest of the spec do
// not. Whole is whether these are all. What it returns is for checks alone; it is nil where nothing is left to check.
func Partial(name string, spec *v1.TemplateControllerSpec) (program *render.Program, whole bool) {
	source, fault := sourceOf(name, spec)
	if fault != nil {
		return nil, false // without its values, each template that reads one would seem to be wrong
	}
	whole = true
	for range mostRounds {
		program, err := render.Compile(source)
		if err == nil {
			return program, whole
		}
		all, _ := errors.AsType[syntax.Errors](err)
		for _, e := range all {
			leaveOut(&source, e.Template)
		}
		whole = false
	}
	return nil, false
}

// leaveOut takes a template out of the source; its entry stays.
func leaveOut(source *render.Source, template string) {
	empty := func(all []syntax.Template, nameOf func(string) string) {
		for i := range all {
			if nameOf(all[i].Name) == template {
				all[i].Text = ""
			}
		}
	}
	switch template {
	case "helpers":
		source.Helpers = ""
	case "status":
		source.Status = ""
	}
	empty(source.Children, syntax.ChildName)
	empty(source.Related, syntax.SelectName)
	source.ReadyWhen = slices.DeleteFunc(source.ReadyWhen, func(t syntax.Template) bool { return syntax.ReadyWhenName(t.Name) == template })
}
