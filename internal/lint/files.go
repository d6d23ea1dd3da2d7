package lint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Check returns all findings for the TemplateControllers of a set, in the order of the files.
func (k *Known) Check(set *manifest.Set) ([]report.Located, report.Summary) {
	return k.Report(set, k.Compile(set))
}

// Compile compiles and checks each TemplateController of a set separately, and returns the results in the same order.
func (k *Known) Compile(set *manifest.Set) []Result {
	results := make([]Result, len(set.Controllers))
	for i, c := range set.Controllers {
		results[i] = k.CheckOne(c)
	}
	return results
}

// CheckOne compiles and checks a TemplateController of a file. It is also rejected for what the API server would not store.
func (k *Known) CheckOne(c *manifest.Controller) Result {
	result := Check(c.TemplateController, k.Schemas)
	if refused := told(c, result.Findings); len(refused) > 0 {
		result.Findings = finding.Sort(append(result.Findings, refused...))
		result.Rejection = cmp.Or(result.Rejection, rejected(refused))
	}
	return result
}

// Refused returns what the API server would not store of a TemplateController.
func Refused(c *manifest.Controller) []finding.Finding { return checkFields(c.Content) }

// Report is like Check for TemplateControllers that were already compiled.
func (k *Known) Report(set *manifest.Set, results []Result) ([]report.Located, report.Summary) {
	findings, incomplete := make([][]report.Located, len(results)), make([]bool, len(results))
	var unknown []schema.GroupVersionKind
	for i, c := range set.Controllers {
		result := results[i]
		found := slices.Concat(result.Findings, result.Suppressed, told(c, result.Findings), unapproved(c.TemplateController))
		found = finding.Sort(found)
		if result.Compiled != nil {
			more, missing := k.checkKinds(set, c, result.Compiled)
			found, unknown, incomplete[i] = finding.Sort(append(found, more...)), append(unknown, missing...), len(missing) > 0
		}
		findings[i] = report.Locate(c.TemplateController.Key(), c, found)
		incomplete[i] = incomplete[i] || slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Severity == finding.Error || f.Code == finding.NotShown })
	}
	all := suppressed(set, findings, incomplete)
	for _, e := range k.unread {
		f := finding.Finding{Code: finding.Definition, Severity: finding.Error, Where: "CustomResourceDefinition", Message: e.Message}
		all = append(all, report.Located{Finding: f, File: e.File, FileLine: e.Line})
	}
	for _, e := range k.unreadable {
		f := finding.Finding{Code: finding.Unreadable, Severity: finding.Error, Where: "file", Message: e.Message}
		all = append(all, report.Located{Finding: f, File: e.File, FileLine: e.Line, FileColumn: e.Column})
	}
	report.Sort(all)
	return all, report.Summarize(len(set.Controllers), all, namesOf(unknown))
}

// told returns the findings of the API server for a TemplateController, without those for fields that already have a finding.
func told(c *manifest.Controller, already []finding.Finding) []finding.Finding {
	return slices.DeleteFunc(checkFields(c.Content), func(f finding.Finding) bool {
		return slices.ContainsFunc(already, func(other finding.Finding) bool { return other.Where == f.Where })
	})
}

// shared returns the TemplateControllers of the set that write the same ready condition as c.
func shared(set *manifest.Set, c *manifest.Controller) (found []finding.Finding) {
	for _, other := range set.Controllers {
		if f, ok := spec.SharedReady(c.TemplateController, other.TemplateController); ok {
			found = append(found, f)
		}
	}
	return found
}

// namesOf returns the display names of kinds, without duplicates.
func namesOf(kinds []schema.GroupVersionKind) []string {
	names := make([]string, len(kinds))
	for i, gvk := range kinds {
		names[i] = fmt.Sprintf("%s of %s", gvk.Kind, gvk.GroupVersion())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkKinds reports unsuitable kinds in the TemplateController, and kinds without a schema.
func (k *Known) checkKinds(set *manifest.Set, c *manifest.Controller, compiled *spec.Compiled) (found []finding.Finding, unknown []schema.GroupVersionKind) {
	check := func(where string, gvk schema.GroupVersionKind, fits func(kind.Kind) []finding.Finding) {
		if gvk.Kind == "" || gvk.Version == "" {
			return // reported separately
		}
		of, err := k.Kinds.Resolve(gvk)
		fields, exists := k.Schemas.Lookup(gvk)
		switch {
		case !exists:
			found = append(found, k.missing(where, gvk, err))
		case err != nil && fields == nil:
			found, unknown = append(found, k.resembling(where, gvk)...), append(unknown, gvk)
		case err == nil:
			found = append(found, fits(of)...)
		}
	}
	check("spec.watch", compiled.GVK, func(of kind.Kind) []finding.Finding {
		if r := spec.CheckKind(c.Key(), &c.Spec, of); r != nil {
			return r.Findings
		}
		if spec.HoldsCondition(compiled.ReadyCondition, of) {
			return shared(set, c)
		}
		return checkConditions(of, compiled.ReadyCondition)
	})
	for i := range compiled.Related {
		related := &compiled.Related[i]
		check("spec."+syntax.RelatedName(related.Name), related.GVK, func(of kind.Kind) []finding.Finding {
			if r := related.CheckKind(c.Key(), of); r != nil {
				return r.Findings
			}
			return nil
		})
	}
	return found, unknown
}

// checkConditions reports why the ready condition cannot be written to the parents.
func checkConditions(of kind.Kind, ready string) []finding.Finding {
	f := finding.Finding{Code: finding.Conditions, Severity: finding.Warning, Where: "spec.watch.kind"}
	switch {
	case ready == "" || !of.Custom || of.Status != nil && of.Status.Conditions == "":
		return nil
	case of.Status == nil:
		f.Message = fmt.Sprintf("%s has no status subresource, so the %s condition is not written: add \"subresources: {status: {}}\" to version %s of its CustomResourceDefinition", of.Kind, ready, of.Resource.Version)
	default:
		f.Message = fmt.Sprintf("the %s condition is not written: %s", ready, of.Status.Conditions)
	}
	return []finding.Finding{f}
}

// missing reports an unknown kind, with a suggestion.
func (k *Known) missing(where string, gvk schema.GroupVersionKind, err error) finding.Finding {
	f := finding.Finding{Code: finding.WatchedKind, Severity: finding.Error, Where: where + ".kind", Message: fmt.Sprintf("unknown kind %s in %s", gvk.Kind, gvk.GroupVersion())}
	notFound, _ := errors.AsType[*kind.NotFoundError](err)
	switch {
	case err == nil: // it exists in other versions
		f.Where = where + ".apiVersion"
	case notFound != nil && notFound.Served != "":
		f.Where, f.Message = where+".apiVersion", f.Message+"; it is served in version "+notFound.Served
	default:
		f.Message += syntax.DidYouMean(syntax.Nearest(gvk.Kind, k.kindsOf(gvk.Group)))
	}
	return f
}

// resembling suggests a kind from the files for an unknown kind.
func (k *Known) resembling(where string, gvk schema.GroupVersionKind) []finding.Finding {
	var kinds, groups []string
	for _, gk := range k.Kinds.All() {
		switch {
		case gk.Group == gvk.Group:
			kinds = append(kinds, gk.Kind)
		case gk.Kind == gvk.Kind:
			groups = append(groups, gk.Group)
		}
	}
	f := finding.Finding{Code: finding.WatchedKind, Severity: finding.Warning}
	if kind := syntax.Nearest(gvk.Kind, kinds); kind != "" {
		f.Where, f.Message = where+".kind", fmt.Sprintf("no schema for kind %s in %s; did you mean %s?", gvk.Kind, gvk.GroupVersion(), kind)
		return []finding.Finding{f}
	}
	if group := syntax.Nearest(gvk.Group, groups); group != "" {
		f.Where, f.Message = where+".apiVersion", fmt.Sprintf("no schema for kind %s in group %s; did you mean %s?", gvk.Kind, gvk.Group, group)
		return []finding.Finding{f}
	}
	return nil
}

// kindsOf returns the kinds of a group.
func (k *Known) kindsOf(group string) []string {
	var all []string
	for _, gk := range append(kind.BuiltIn(), k.Kinds.All()...) {
		if gk.Group == group {
			all = append(all, gk.Kind)
		}
	}
	slices.Sort(all)
	return all
}
