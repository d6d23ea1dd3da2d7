package conditions

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// Filter says that spec.watch.filter cannot be evaluated for some objects, or is nil where it can.
func Filter(c *running.Controller) *metav1.Condition {
	objects, example, why := c.Filter.Failing()
	if objects == 0 {
		return nil
	}
	name := example.Name
	if example.Namespace != "" {
		name = example.String()
	}
	return &metav1.Condition{
		Type: v1.ConditionFilterEvaluated, Status: metav1.ConditionFalse, Reason: v1.ReasonFilterFailed,
		Message: fmt.Sprintf("%s; %s affected, such as %s: no object starts or stops being a parent until the filter is corrected", why, problem.Count(objects, "object is", "objects are"), name),
	}
}
