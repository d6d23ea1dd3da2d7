package spec

import (
	"slices"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
)

// NeedsFinalizer reports whether parents need a finalizer: there is something to do before a deleted one goes, or it has children that
// the garbage collector does not take.
func NeedsFinalizer(spec *v1.TemplateControllerSpec) bool {
	return spec.Finalize != nil || slices.ContainsFunc(spec.Children, func(c v1.Child) bool { return crossScope(c) && c.DeletionPolicy != v1.DeletionOrphan })
}

// defaultTimeout is spec.finalize.timeout where there is none.
const defaultTimeout = 10 * time.Minute

// FinalizeTimeout returns how long a deleted parent may take to go; 0 = without end. What makes no sense counts as the default.
func FinalizeTimeout(spec *v1.TemplateControllerSpec) time.Duration {
	if spec.Finalize == nil || spec.Finalize.Timeout == "" {
		return defaultTimeout
	}
	timeout, fault := parseDuration(spec.Finalize.Timeout)
	if fault != "" {
		return defaultTimeout
	}
	return timeout
}
