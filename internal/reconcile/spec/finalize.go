package spec

import (
	"iter"
	"slices"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/finding"
)

// NeedsFinalizer reports whether parents need a finalizer, because deleted parents need cleanup, or have children that the garbage collector
// does not delete.
func NeedsFinalizer(spec *v1.TemplateControllerSpec) bool {
	return spec.Finalize != nil || slices.ContainsFunc(spec.Children, func(c v1.Child) bool { return ofScopeCluster(c) && c.DeletionPolicy != v1.DeletionOrphan })
}

// allEntries yields the child templates of spec.children, and then those of spec.finalize.children. Their names must be unique.
func allEntries(spec *v1.TemplateControllerSpec) iter.Seq[*v1.Child] {
	return func(yield func(*v1.Child) bool) {
		for i := range spec.Children {
			if !yield(&spec.Children[i]) {
				return
			}
		}
		for i := range Finals(spec) {
			if !yield(&spec.Finalize.Children[i]) {
				return
			}
		}
	}
}

// Finals returns the child templates of spec.finalize.children.
func Finals(spec *v1.TemplateControllerSpec) []v1.Child {
	if spec.Finalize == nil {
		return nil
	}
	return spec.Finalize.Children
}

// checkNames returns a rejection of names that both lists contain, or nil.
func checkNames(spec *v1.TemplateControllerSpec) *Rejection {
	names := namesOf(spec.Children)
	var all faults
	for _, final := range Finals(spec) {
		if names[final.Name] {
			all.add(wrong(finding.SecondName, inFinalize.entry(final.Name), "a child template in spec.children has the same name: rename one of the two"))
		}
	}
	return all.joined()
}

func namesOf(entries []v1.Child) map[string]bool {
	names := make(map[string]bool, len(entries))
	for _, c := range entries {
		names[c.Name] = true
	}
	return names
}

// checkReads returns a rejection of templates in spec.children that wait for spec.finalize.children, or nil.
func checkReads(spec *v1.TemplateControllerSpec, awaits func(entry string) []string) *Rejection {
	if len(Finals(spec)) == 0 {
		return nil
	}
	by := map[string][]string{} // names of dependent child templates, by the name of the dependency
	for _, c := range spec.Children {
		for _, name := range awaits(c.Name) {
			by[name] = append(by[name], c.Name)
		}
	}
	var all faults
	for _, final := range Finals(spec) {
		for _, name := range by[final.Name] {
			all.add(wrong(finding.ReadsFinal, inChildren.entry(name), "the template reads .children.%s, whose objects are only created when the parent is deleted: read it in the status template or in spec.finalize.children", final.Name))
		}
	}
	return all.joined()
}

// checkTimeout returns errors in the timeout of the cleanup, or nil. A stored onTimeout: Block is rejected instead of ignored, because ignoring
// it could lose backups.
func checkTimeout(f *v1.Finalize) *Rejection {
	if f == nil {
		return nil
	}
	var timeout, removed *Rejection
	if f.Timeout != "" {
		if _, fault := parseDuration(f.Timeout); fault != "" {
			timeout = wrong(finding.Duration, "spec.finalize.timeout", "%s0s to disable it", fault)
		}
	}
	if f.OnTimeout != "" && f.OnTimeout != timeoutContinues {
		removed = wrong(finding.RemovedField, "spec.finalize.onTimeout", "no longer supported: the finalizer is always removed when timeout expires; to wait without a limit, as with Block, also remove timeout")
	}
	return joined(timeout, removed)
}

// timeoutContinues was the default of onTimeout, which earlier versions stored. It is now the behavior of every timeout.
const timeoutContinues = "Continue"

// Ignored returns warnings about fields that have no effect.
func Ignored(spec *v1.TemplateControllerSpec) []finding.Finding {
	if spec.Finalize == nil || spec.Finalize.OnTimeout != timeoutContinues {
		return nil
	}
	return []finding.Finding{{
		Code: finding.RemovedField, Severity: finding.Warning, Where: "spec.finalize.onTimeout",
		Message: "this field is no longer supported and is ignored: the finalizer is always removed when the timeout expires; remove the field",
	}}
}

// FinalizeTimeout returns how long the cleanup of a deleted parent may take; 0 = no timeout. Invalid values count as 0.
func FinalizeTimeout(spec *v1.TemplateControllerSpec) time.Duration {
	if spec.Finalize == nil {
		return 0
	}
	timeout, _ := parseDuration(spec.Finalize.Timeout)
	return timeout
}
