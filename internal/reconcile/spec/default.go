package spec

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/templater-dev/templater/api/v1"
)

// The defaults of the API that are not the zero value of what they mean.
const (
	defaultResyncPeriod = "10m"
	defaultTailLines    = 20
	defaultLimitBytes   = 4096
)

// Default sets what a spec leaves out to the defaults of the API, as the CustomResourceDefinition has the API server do. A spec that the API
// server returns has them already; one of a file has not.
func Default(spec *v1.TemplateControllerSpec) {
	setDefault(&spec.ResyncPeriod, defaultResyncPeriod)
	setDefault(&spec.WhenDeleted, v1.OrphanChildren)
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

// DefaultLogs is Default for the logs of an entry of spec.related.
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

// setDefault sets a field to its default where it has no value.
func setDefault[T comparable](field *T, value T) {
	var none T
	if *field == none {
		*field = value
	}
}
