package tree

import (
	"cmp"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Rejected returns the tree for a rejected TemplateController: the reason, and the existing children, which templater does not change.
// Other objects are omitted.
func Rejected(tc *v1.TemplateController, why *spec.Rejection, parent map[string]any, objects []map[string]any) Controller {
	out := existing(tc, nil, parent, objects)
	out.Reason, out.Message = why.Reason, why.Message
	return out
}

// Leaving returns the tree of a parent that is being deleted: its children, including those of spec.finalize, and its ready condition.
// Other objects are omitted.
func Leaving(tc *v1.TemplateController, compiled *spec.Compiled, parent map[string]any, objects []map[string]any) Controller {
	out := existing(tc, compiled, parent, objects)
	out.Reason, out.Message = v1.ReasonDeleting, "the parent is being deleted"
	if live := conditionOf(parent, compiled.ReadyCondition); live != nil && live["status"] != "True" {
		out.Reason, out.Message = simulate.Text(live["reason"]), simulate.Text(live["message"])
	}
	return out
}

// existing does not reconcile: it finds the children of a parent by their labels, and computes their readiness by kind. compiled is nil for a
// spec with invalid child templates.
func existing(tc *v1.TemplateController, compiled *spec.Compiled, parent map[string]any, objects []map[string]any) Controller {
	out := Controller{Name: tc.Key(), Children: []Entry{}, Related: []Entry{}, Errors: []string{}, Waits: []string{}, Pending: []string{}}
	if compiled != nil {
		out.Children = append(entriesOf(tc.Spec.Children, compiled.Order), entriesOf(spec.Finals(&tc.Spec), compiled.FinalOrder)...)
	}
	label, name := v1.ControllerLabel(tc.Key())
	uid := simulate.Text(simulate.Map(parent["metadata"])["uid"])
	for _, content := range objects {
		labels, _ := simulate.Map(content["metadata"])["labels"].(map[string]any)
		if labels[label] != name || uid == "" || labels[v1.LabelParentUID] != uid {
			continue
		}
		o := objectOf(content)
		o.State = cmp.Or(readiness.Why(content), Ready)
		out.add(simulate.Text(labels[v1.LabelChild]), o)
	}
	return out
}
