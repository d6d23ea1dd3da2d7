package spec

import (
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/render/finding"
)

// ReadyCondition returns the type of the condition that templater writes to parents, or "" for none.
func ReadyCondition(spec *v1.TemplateControllerSpec) string {
	if spec.Status != nil && spec.Status.ReadyCondition != nil {
		return *spec.Status.ReadyCondition
	}
	return v1.ConditionReady
}

// HoldsCondition reports whether the status of parents of that kind can contain a ready condition of that type; "" is none.
func HoldsCondition(conditionType string, parents kind.Kind) bool {
	return conditionType != "" && parents.Status != nil && parents.Status.Conditions == ""
}

// WritesStatus reports whether templater writes the status of parents of that kind. conditionType is the type of the ready condition, or "" for
// none.
func WritesStatus(spec *v1.TemplateControllerSpec, conditionType string, parents kind.Kind) bool {
	return HoldsCondition(conditionType, parents) || parents.Status != nil && spec.Status != nil && spec.Status.Template != ""
}

// SharesReadyCondition returns the type of the ready condition that both specs write to the same parents, or "". It only compares specs with the
// same selectors, or if one of them selects everything: other selectors may or may not overlap.
func SharesReadyCondition(a, b *v1.TemplateControllerSpec) string {
	condition := ReadyCondition(a)
	if condition != ReadyCondition(b) || WatchedKind(a) != WatchedKind(b) || !mayWriteStatus(a) {
		return ""
	}
	x, y := selectors(a), selectors(b)
	if apiequality.Semantic.DeepEqual(x, y) || apiequality.Semantic.DeepEqual(x, v1.Watch{}) || apiequality.Semantic.DeepEqual(y, v1.Watch{}) {
		return condition
	}
	return ""
}

// WatchedKind returns the kind of the parents.
func WatchedKind(spec *v1.TemplateControllerSpec) schema.GroupKind {
	return schema.FromAPIVersionAndKind(spec.Watch.APIVersion, spec.Watch.Kind).GroupKind()
}

// SharedReady returns a lint finding for tc if other writes the same ready condition of the same parents, or false.
func SharedReady(tc, other *v1.TemplateController) (finding.Finding, bool) {
	condition := SharesReadyCondition(&tc.Spec, &other.Spec)
	if condition == "" || tc.Key() == other.Key() {
		return finding.Finding{}, false
	}
	return finding.Finding{Code: finding.SharedReady, Severity: finding.Warning, Where: "spec.watch.kind", Message: fmt.Sprintf(
		"%s also writes the %s condition of the same parents: set another spec.status.readyCondition in one of the two, or let them select different parents", v1.Describe(other.Key()), condition)}, true
}

// selectors returns spec.watch without the kind.
func selectors(spec *v1.TemplateControllerSpec) v1.Watch {
	w := spec.Watch
	w.APIVersion, w.Kind = "", ""
	return w
}
