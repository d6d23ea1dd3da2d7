package related

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/templater-dev/templater/internal/kube/object"
)

// TestCompactLabelSelectorsMatchKubernetes compares labelSet with the selectors of apimachinery.
func TestCompactLabelSelectorsMatchKubernetes(t *testing.T) {
	var requirements []metav1.LabelSelectorRequirement
	for _, key := range []string{"a", "ab"} {
		for _, operator := range []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn} {
			for _, values := range [][]string{{"x"}, {""}, {"x", "xy"}, {"xy", ""}, {"y", "", "x"}} {
				requirements = append(requirements, metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: values})
			}
		}
		requirements = append(requirements, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpExists}, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpDoesNotExist})
	}
	var objects []*object.Object
	for _, labels := range []map[string]any{{}, {"a": "x"}, {"a": ""}, {"a": "xy", "ab": "x"}, {"ab": "y"}, {"a": "y", "ab": ""}, {"a": "z", "ab": "z"}} {
		o, err := object.From(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "ns", "name": "p", "resourceVersion": "1", "labels": labels}})
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	for _, one := range requirements {
		for _, other := range requirements {
			of := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{one, other}, MatchLabels: map[string]string{}}
			want, err := metav1.LabelSelectorAsSelector(of)
			if err != nil {
				t.Fatal(err)
			}
			part := Part{labels: compact(want)}
			for _, o := range objects {
				if got := part.Selects(o); got != want.Matches(o) {
					t.Errorf("%s selects %s: %v", want, fmt.Sprint(o.Content()["metadata"]), got)
				}
				if part.Selects(o) && !part.Term().Matches(o) {
					t.Errorf("%s selects %s, and is filed under %+v", want, fmt.Sprint(o.Content()["metadata"]), part.Term())
				}
			}
		}
	}
}
