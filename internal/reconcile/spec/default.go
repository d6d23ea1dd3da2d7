package spec

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/templater-dev/templater/api/v1"
)

// Defaults of the API that differ from the zero value.
const (
	defaultResyncPeriod = "10m"
	defaultTailLines    = 20
	defaultReadyTimeout = "10m"
	// defaultRevisionHistoryLimit is the default of spec.revisionHistoryLimit.
	defaultRevisionHistoryLimit = 10
	defaultLimitBytes           = 4096
)

// Default sets the same defaults as the API server does for the CustomResourceDefinition. A spec from the API server already has them, but a
// spec from a file does not.
func Default(spec *v1.TemplateControllerSpec) {
	setDefault(&spec.ResyncPeriod, defaultResyncPeriod)
	setDefault(&spec.WhenDeleted, v1.OrphanChildren)
	setDefault(&spec.RevisionHistoryLimit, defaultRevisionHistoryLimit)
	if spec.CRD != nil {
		setDefault(&spec.CRD.Scope, v1.NamespacedScope)
	}
	if r := spec.Rollout; r != nil {
		setDefault(&r.Preflight, v1.PreflightEnforce)
		setDefault(&r.ReadyTimeout, defaultReadyTimeout)
		setDefault(&r.Approval, v1.ApprovalNone)
	}
	for i := range spec.Related {
		if logs := spec.Related[i].Logs; logs != nil {
			DefaultLogs(logs)
		}
	}
	templateDefaults(spec, defaulting{})
}

// HistoryLimit returns the number of revisions to keep. A spec that was stored before this field existed has no default.
func HistoryLimit(spec *v1.TemplateControllerSpec) int {
	return int(cmp.Or(spec.RevisionHistoryLimit, defaultRevisionHistoryLimit))
}

// OmitDefaults removes fields of a revision that have their default, so that a new field with a default does not make a new revision.
func OmitDefaults(revision *v1.TemplateControllerSpec) {
	templateDefaults(revision, defaulting{omit: true})
}

// templateDefaults sets or omits the defaults in the part of a spec that is a revision.
func templateDefaults(spec *v1.TemplateControllerSpec, d defaulting) {
	if spec.Status != nil {
		d.pointer(&spec.Status.ReadyCondition, v1.ConditionReady)
		if d.omit && *spec.Status == (v1.ParentStatus{}) {
			spec.Status = nil
		}
	}
	if spec.Finalize != nil {
		applyDefault(d, &spec.Finalize.Order, v1.FinalizeNone)
	}
	for child := range allEntries(spec) {
		applyDefault(d, &child.PrunePolicy, v1.PruneDelete)
		applyDefault(d, &child.DeletionPolicy, v1.DeletionDelete)
		applyDefault(d, &child.Scope, v1.ScopeNamespaced)
		applyDefault(d, &child.UpdateStrategy.Type, v1.UpdateApply)
		if r := child.UpdateStrategy.RollingUpdate; r != nil {
			r.MaxUnavailable = d.number(r.MaxUnavailable, 1)
		}
	}
}

// DefaultLogs sets the defaults for the logs of an entry of spec.related.
func DefaultLogs(logs *v1.PodLogs) {
	setDefault(&logs.TailLines, defaultTailLines)
	setDefault(&logs.LimitBytes, defaultLimitBytes)
}

// defaulting sets fields with the zero value to their default or, with omit, the reverse.
type defaulting struct{ omit bool }

func applyDefault[T comparable](d defaulting, field *T, value T) {
	var none T
	if d.omit && *field == value {
		*field = none
	} else if !d.omit {
		setDefault(field, value)
	}
}

func (d defaulting) pointer(field **string, value string) {
	if d.omit && *field != nil && **field == value {
		*field = nil
	} else if !d.omit && *field == nil {
		*field = &value
	}
}

func (d defaulting) number(field *intstr.IntOrString, value int32) *intstr.IntOrString {
	number := intstr.FromInt32(value)
	switch {
	case d.omit && field != nil && *field == number:
		return nil
	case !d.omit && field == nil:
		return &number
	}
	return field
}

// setDefault sets a field to its default if it has the zero value.
func setDefault[T comparable](field *T, value T) {
	var none T
	if *field == none {
		*field = value
	}
}
