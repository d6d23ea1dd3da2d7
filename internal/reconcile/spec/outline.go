package spec

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
)

// mostSelector is the maximum size of a selector in an Outline, in bytes of JSON.
const mostSelector = 4 << 10

// Outline returns the part of a spec that is needed before it is compiled: which objects are parents, and which children may be deleted. It has
// no templates, and takes at most 32 KiB, usually less than 1 KiB. A selector larger than mostSelector is replaced by an invalid one: then the
// parents are unknown.
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
