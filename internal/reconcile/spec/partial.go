package spec

import (
	"encoding/json"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// mostSelector is how many bytes of JSON a selector of an Outline has at most.
const mostSelector = 4 << 10

// Outline returns the part of a spec that is needed while it is not compiled: which objects are its parents, and which children may be
// deleted. It has no templates, and takes at most 32 KiB, usually less than 1 KiB. A selector larger than mostSelector is replaced by an invalid
// one: the parents are then unknown.
func Outline(spec *v1.TemplateControllerSpec) *v1.TemplateControllerSpec {
	out := &v1.TemplateControllerSpec{
		ClassName: spec.ClassName, Watch: spec.Watch, ServiceAccountRef: spec.ServiceAccountRef, Suspend: spec.Suspend, ResyncPeriod: spec.ResyncPeriod,
		WhenDeleted: spec.WhenDeleted, Delimiters: spec.Delimiters, Children: outlines(spec.Children),
	}
	out.Watch.LabelSelector, out.Watch.NamespaceSelector = bounded(spec.Watch.LabelSelector), bounded(spec.Watch.NamespaceSelector)
	if spec.Status != nil {
		out.Status = &v1.ParentStatus{ReadyCondition: spec.Status.ReadyCondition}
	}
	if spec.Finalize != nil {
		finalize := *spec.Finalize
		finalize.Children = outlines(finalize.Children)
		out.Finalize = &finalize
	}
	return out
}

func outlines(entries []v1.Child) []v1.Child {
	var out []v1.Child
	for _, c := range entries {
		out = append(out, v1.Child{Name: c.Name, PrunePolicy: c.PrunePolicy, DeletionPolicy: c.DeletionPolicy, Scope: c.Scope})
	}
	return out
}

func bounded(selector *metav1.LabelSelector) *metav1.LabelSelector {
	if text, err := json.Marshal(selector); err == nil && len(text) <= mostSelector {
		return selector
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{}}}
}
