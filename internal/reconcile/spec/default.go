package spec

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/templater-dev/templater/api/v1"
)

// Defaults of the API that differ from the zero value.
const (
	defaultResyncPeriod = "10m"
	defaultTailLines    = 20
	defaultLimitBytes   = 4096
)

// Default sets the same defaults as the API server does for the CustomResourceDefinition. A spec from the API server already has them, but a
// spec from a file does not.
func Default(spec *v1.TemplateControllerSpec) {
	setDefault(&spec.ResyncPeriod, defaultResyncPeriod)
	setDefault(&spec.WhenDeleted, v1.OrphanChildren)
	if spec.CRD != nil {
		setDefault(&spec.CRD.Scope, v1.NamespacedScope)
	}
	if spec.Status != nil && spec.Status.ReadyCondition == nil {
		ready := v1.ConditionReady
		spec.Status.ReadyCondition = &ready
	}
	for i := range spec.Related {
		if logs := spec.Related[i].Logs; logs != nil {
			DefaultLogs(logs)
		}
	}
	if spec.Finalize != nil {
		setDefault(&spec.Finalize.Order, v1.FinalizeNone)
	}
	for child := range allEntries(spec) {
		defaultChild(child)
	}
}

// DefaultLogs sets the defaults for the logs of an entry of spec.related.
func DefaultLogs(logs *v1.PodLogs) {
	setDefault(&logs.TailLines, defaultTailLines)
	setDefault(&logs.LimitBytes, defaultLimitBytes)
}

func defaultChild(child *v1.Child) {
	setDefault(&child.PrunePolicy, v1.PruneDelete)
	setDefault(&child.DeletionPolicy, v1.DeletionDelete)
	setDefault(&child.Scope, v1.ScopeNamespaced)
	setDefault(&child.UpdateStrategy.Type, v1.UpdateApply)
	if r := child.UpdateStrategy.RollingUpdate; r != nil && r.MaxUnavailable == nil {
		one := intstr.FromInt32(1)
		r.MaxUnavailable = &one
	}
}

// setDefault sets a field to its default if it has the zero value.
func setDefault[T comparable](field *T, value T) {
	var none T
	if *field == none {
		*field = value
	}
}
