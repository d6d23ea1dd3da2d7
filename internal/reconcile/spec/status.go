package spec

import (
	"fmt"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// SharesReadyCondition returns the type of the ready condition that both specs write to the same parents, or "". It only compares specs that
// certainly read a common namespace, and have the same selectors or one without any: other selectors may or may not overlap.
func SharesReadyCondition(a, b *v1.TemplateControllerSpec) string {
	condition := ReadyCondition(a)
	if condition != ReadyCondition(b) || WatchedKind(a) != WatchedKind(b) || !mayWriteStatus(a) || !shareNamespace(&a.Watch, &b.Watch) {
		return ""
	}
	x, y := selectors(a), selectors(b)
	if apiequality.Semantic.DeepEqual(x, y) || apiequality.Semantic.DeepEqual(x, v1.Watch{}) || apiequality.Semantic.DeepEqual(y, v1.Watch{}) {
		return condition
	}
	return ""
}

// shareNamespace reports whether both certainly read parents in a common namespace.
func shareNamespace(a, b *v1.Watch) bool {
	contains := len(a.Namespaces) == 0 || len(b.Namespaces) == 0 || apiequality.Semantic.DeepEqual(a.Namespaces, b.Namespaces)
	all, others := selectsAll(a.NamespaceSelector), selectsAll(b.NamespaceSelector)
	switch {
	case all && others:
		return contains || slices.ContainsFunc(a.Namespaces, func(ns string) bool { return slices.Contains(b.Namespaces, ns) })
	case all:
		return len(a.Namespaces) == 0
	case others:
		return len(b.Namespaces) == 0
	}
	return contains && apiequality.Semantic.DeepEqual(a.NamespaceSelector, b.NamespaceSelector)
}

// selectsAll reports whether a selector selects everything.
func selectsAll(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0
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

// selectors returns spec.watch without the kind and the namespaces.
func selectors(spec *v1.TemplateControllerSpec) v1.Watch {
	w := spec.Watch
	w.APIVersion, w.Kind, w.Namespaces, w.NamespaceSelector = "", "", nil, nil
	if selectsAll(w.LabelSelector) {
		w.LabelSelector = nil
	}
	return w
}
