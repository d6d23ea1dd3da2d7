package spec

import (
	"iter"
	"slices"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/finding"
)

// NeedsFinalizer reports whether parents need a finalizer: a deleted one needs cleanup, or has children that
// the garbage collector does not delete.
func NeedsFinalizer(spec *v1.TemplateControllerSpec) bool {
	return spec.Finalize != nil || slices.ContainsFunc(spec.Children, func(c v1.Child) bool { return ofScopeCluster(c) && c.DeletionPolicy != v1.DeletionOrphan })
}

// allEntries yields those of spec.children, and then those of spec.finalize.children. They share one space of names.
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

// checkNames says which names stand for two entries, or returns nil.
func checkNames(spec *v1.TemplateControllerSpec) *Rejection {
	names := namesOf(spec.Children)
	var all faults
	for _, final := range Finals(spec) {
		if names[final.Name] {
			all.add(wrong(finding.SecondName, inFinalize.entry(final.Name), "an entry of spec.children has the same name: rename one of the two"))
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

// checkReads says which entries of spec.children wait for one of spec.finalize.children, or returns nil.
func checkReads(spec *v1.TemplateControllerSpec, awaits func(entry string) []string) *Rejection {
	if len(Finals(spec)) == 0 {
		return nil
	}
	by := map[string][]string{} // entries that await one, by its name
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

// checkTimeout returns what is wrong with the timeout of a cleanup, or nil. A stored onTimeout: Block is refused and not pruned: its author
// would lose backups.
func checkTimeout(f *v1.Finalize) *Rejection {
	if f == nil {
		return nil
	}
	var timeout, removed *Rejection
	if f.Timeout != "" {
		if _, fault := parseDuration(f.Timeout); fault != "" {
			timeout = wrong(finding.Duration, "spec.finalize.timeout", "%s0s for none", fault)
		}
	}
	if f.OnTimeout != "" && f.OnTimeout != timeoutContinues {
		removed = wrong(finding.RemovedField, "spec.finalize.onTimeout", "this field is no longer supported: with a timeout, the parent is always released when it expires; for Block, remove timeout, too: without it, the parent waits until its cleanup is done")
	}
	return joined(timeout, removed)
}

// timeoutContinues was the default of onTimeout, which earlier versions stored. It is what every timeout means now.
const timeoutContinues = "Continue"

// Ignored returns warnings about fields that have no effect.
func Ignored(spec *v1.TemplateControllerSpec) []finding.Finding {
	if spec.Finalize == nil || spec.Finalize.OnTimeout != timeoutContinues {
		return nil
	}
	return []finding.Finding{{
		Code: finding.RemovedField, Severity: finding.Warning, Where: "spec.finalize.onTimeout",
		Message: "this field is no longer supported and is ignored: the parent is always released when the timeout expires; remove the field",
	}}
}

// FinalizeTimeout returns how long the cleanup of a deleted parent may take; 0 = as long as it takes. What makes no sense counts as none.
func FinalizeTimeout(spec *v1.TemplateControllerSpec) time.Duration {
	if spec.Finalize == nil {
		return 0
	}
	timeout, _ := parseDuration(spec.Finalize.Timeout)
	return timeout
}
