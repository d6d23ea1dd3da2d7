package spec

import (
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
)

// CrossScope reports whether children may be in other namespaces than their parents, or in none: some entry has scope Cluster.
func CrossScope(spec *v1.TemplateControllerSpec) bool {
	return slices.ContainsFunc(spec.Children, crossScope) || slices.ContainsFunc(Finals(spec), crossScope)
}

func crossScope(c v1.Child) bool { return c.Scope == v1.ScopeCluster }

// checkScope returns the fault of a scope that means nothing for the kind of the parents, or nil.
func checkScope(spec *v1.TemplateControllerSpec, kind kind.Kind) *Rejection {
	if kind.Namespaced {
		return nil
	}
	const text = "%s is cluster-scoped, so its children may be anywhere as it is: remove scope"
	if i := slices.IndexFunc(spec.Children, crossScope); i >= 0 {
		return unfit(v1.ReasonInvalidSpec, inChildren.entry(spec.Children[i].Name)+".scope", text, kind.Kind)
	}
	if i := slices.IndexFunc(Finals(spec), crossScope); i >= 0 {
		return unfit(v1.ReasonInvalidSpec, inFinalize.entry(spec.Finalize.Children[i].Name)+".scope", text, kind.Kind)
	}
	return nil
}
