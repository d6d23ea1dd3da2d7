package spec

import (
	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kind"
)

// ReadyCondition returns the type of the condition of parents that templater writes itself; "" is none.
func ReadyCondition(spec *v1.TemplateControllerSpec) string {
	if spec.Status != nil && spec.Status.ReadyCondition != nil {
		return *spec.Status.ReadyCondition
	}
	return v1.ConditionReady
}

// HoldsCondition reports whether parents of that kind can hold a ready condition of that type; "" is none.
func HoldsCondition(conditionType string, parents kind.Kind) bool {
	return conditionType != "" && parents.Status != nil && parents.Status.Conditions == ""
}

// WritesStatus reports whether there is anything to write into the status of parents of that kind. conditionType is that of
// the ready condition; "" is none.
func WritesStatus(spec *v1.TemplateControllerSpec, conditionType string, parents kind.Kind) bool {
	return HoldsCondition(conditionType, parents) || parents.Status != nil && spec.Status != nil && spec.Status.Template != ""
}
