package spec

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Related is a compiled entry of spec.related. It does not depend on the cluster.
type Related struct {
	*v1.Related
	GVK               schema.GroupVersionKind
	Labels, Fields    string          // selectors as text; "" = all
	NamespaceSelector labels.Selector // nil = none
	Watched           [][]string      // the paths of watchFields and, with logs, of container states, as lists of keys; empty = every change counts
}

// mostRelatedNamespaces is the maximum number of namespaces in all entries of spec.related: each needs a watch.
const mostRelatedNamespaces = 128

// parseRelated parses spec.related.
func (c *Compiled) parseRelated(all []v1.Related) *Rejection {
	var found faults
	namespaces := 0
	for i := range all {
		r, fault := relatedOf(&all[i])
		c.Related = append(c.Related, r)
		found.add(fault)
		namespaces += len(r.Namespaces)
	}
	if namespaces > mostRelatedNamespaces {
		found.add(wrong(finding.RelatedNamespaces, "spec.related", "the namespaces of all entries list %d names; the limit is %d: use namespaceSelector, or split the TemplateController", namespaces, mostRelatedNamespaces))
	}
	return found.joined()
}

// RelatesTo reports whether an entry of spec.related refers to that kind, in any version.
func (c *Compiled) RelatesTo(gk schema.GroupKind) bool {
	return slices.ContainsFunc(c.Related, func(r Related) bool { return r.GVK.GroupKind() == gk })
}

func relatedOf(from *v1.Related) (Related, *Rejection) {
	where := "spec." + syntax.RelatedName(from.Name)
	r := Related{Related: from}
	gvk, unknown := kindOf(where, from.APIVersion, from.Kind)
	selector, labels := selectorOf(where+".labelSelector", from.LabelSelector)
	if labels == nil {
		r.Labels = selector.String()
	}
	var namespaces, fields *Rejection
	if r.NamespaceSelector, namespaces = selectorOf(where+".namespaceSelector", from.NamespaceSelector); namespaces == nil && r.NamespaceSelector.Empty() {
		r.NamespaceSelector = nil
	}
	r.GVK = gvk
	r.Fields, fields = fieldsOf(where+".fieldSelector", from.FieldSelector)
	return r, joined(unknown, labels, namespaces, fields, r.watch(where, from))
}

// watch parses watchFields.
func (r *Related) watch(where string, from *v1.Related) *Rejection {
	var found faults
	for i, text := range from.WatchFields {
		path, ok := data.Path(text)
		if !ok {
			found.add(wrong(finding.WatchFields, fmt.Sprintf("%s.watchFields[%d]", where, i), "must be %s", data.APath))
		}
		r.Watched = append(r.Watched, path)
	}
	if from.Logs != nil && len(r.Watched) > 0 { // otherwise the log of an old run would be kept
		for _, containers := range []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"} {
			r.Watched = append(r.Watched, []string{"status", containers})
		}
	}
	return found.joined()
}

// mostSelected is the maximum number of labels and values in one selector. They are sent with each list and watch request.
const mostSelected = 1_000

// selectorOf parses a label selector; nil selects everything.
func selectorOf(where string, selector *metav1.LabelSelector) (labels.Selector, *Rejection) {
	if selector == nil {
		return labels.Everything(), nil
	}
	size := len(selector.MatchLabels)
	for i := range selector.MatchExpressions {
		size += 1 + len(selector.MatchExpressions[i].Values)
	}
	if size > mostSelected {
		return nil, wrong(finding.Selector, where, "the selector has %d labels and values; the limit is %d: select by a label that all these objects share", size, mostSelected)
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, selectorFault(where, selector)
	}
	return parsed, nil
}

// fieldsOf validates a field selector and returns its normalized text.
func fieldsOf(where, text string) (string, *Rejection) {
	selector, err := fields.ParseSelector(text)
	if err != nil {
		return "", wrong(finding.Selector, where, "must be comma-separated terms such as metadata.name=x")
	}
	return selector.String(), nil
}

// CheckKind returns why the related entry of the TemplateController with that key is not supported for the kind of its objects, or nil.
func (r *Related) CheckKind(key string, kind kind.Kind) *Rejection {
	if rejection := confinedKind(key, "spec."+syntax.RelatedName(r.Name), kind); rejection != nil {
		return rejection
	}
	if !kind.Namespaced && (len(r.Namespaces) > 0 || r.Related.NamespaceSelector != nil) {
		return unfit(v1.ReasonInvalidSpec, "spec."+syntax.RelatedName(r.Name), "%s is cluster-scoped: remove namespaces and namespaceSelector", kind.Kind)
	}
	return nil
}
