package typed

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
)

// labelled returns the steps to the labels that parents and related objects have in any case: those that the selectors which
// choose them ask for.
func labelled(spec *v1.TemplateControllerSpec) map[string]bool {
	all := map[string]bool{}
	addLabels(all, "", spec.Watch.LabelSelector)
	for i := range spec.Related {
		addLabels(all, ".related."+spec.Related[i].Name+"[]", spec.Related[i].LabelSelector)
	}
	return all
}

// addLabels adds the steps to the labels that an object at root has if the selector, which may be nil, chooses it.
func addLabels(all map[string]bool, root string, selector *metav1.LabelSelector) {
	if selector == nil {
		return
	}
	at := root + ".metadata.labels"
	add := func(key string) { all[at], all[at+"."+key] = true, true }
	for key := range selector.MatchLabels {
		add(key)
	}
	for _, each := range selector.MatchExpressions {
		if each.Operator == metav1.LabelSelectorOpIn || each.Operator == metav1.LabelSelectorOpExists {
			add(each.Key)
		}
	}
}
