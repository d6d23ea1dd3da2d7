package spec

import (
	"errors"
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// mostRounds is how often Partial compiles: what calls a template that is left out has to be left out, too, and there may be more wrong
// than was found at first.
const mostRounds = 3

// Partial compiles the templates of a spec that make sense, so that more can be said of these, though others or the rest of the spec do
// not. found is what Compile has said of it. Whole is whether these are all. What it returns is for checks alone; it is nil where nothing
// is left to check, and where a pause has ended the work: see CompileWith.
func Partial(pause func() error, name string, spec *v1.TemplateControllerSpec, found []finding.Finding) (program *render.Program, whole bool) {
	if checkSize(spec) != nil {
		return nil, false
	}
	source, fault := sourceOf(name, spec)
	if fault != nil {
		return nil, false // without its values, each template that reads one would seem to be wrong
	}
	source.Pause, whole = pause, true
	for _, f := range found {
		whole = !leaveOut(&source, f.Where) && whole
	}
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

// leaveOut takes a template out of the source, and reports whether it was there; its entry stays.
func leaveOut(source *render.Source, template string) (left bool) {
	empty := func(text *string, name string) {
		if name == template && *text != "" {
			*text, left = "", true
		}
	}
	empty(&source.Helpers, "helpers")
	empty(&source.Status, "status")
	empty(&source.Filter, syntax.FilterName)
	for i := range source.Children {
		empty(&source.Children[i].Text, syntax.ChildName(source.Children[i].Name))
	}
	for i := range source.Related {
		empty(&source.Related[i].Text, syntax.SelectName(source.Related[i].Name))
	}
	kept := slices.DeleteFunc(source.ReadyWhen, func(t syntax.Template) bool { return syntax.ReadyWhenName(t.Name) == template })
	left = left || len(kept) < len(source.ReadyWhen)
	source.ReadyWhen = kept
	return left
}
