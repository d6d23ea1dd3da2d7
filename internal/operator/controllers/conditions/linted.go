package conditions

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render/finding"
)

// Linted says which warnings there are. Behind an error there may be more than those that were found.
func Linted(all []finding.Finding) metav1.Condition {
	warnings := finding.Of(finding.Warning, all)
	switch count := len(warnings); {
	case count == 0 && len(all) > 0:
		return metav1.Condition{Type: v1.ConditionLinted, Status: metav1.ConditionUnknown, Reason: v1.ReasonNotAccepted, Message: "not known until the spec is accepted"}
	case count == 0:
		return metav1.Condition{Type: v1.ConditionLinted, Status: metav1.ConditionTrue, Reason: v1.ReasonNoWarnings, Message: "no warnings"}
	default:
		message := problem.Count(count, "warning", "warnings") + ": "
		return metav1.Condition{Type: v1.ConditionLinted, Status: metav1.ConditionFalse, Reason: v1.ReasonWarnings, Message: message + problem.JoinFunc(warnings, finding.Finding.String)}
	}
}
