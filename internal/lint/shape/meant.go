package shape

import (
	"slices"

	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// hint ends a message about a kind that is not there: it says which one that comes with Kubernetes may have been
// meant. It is empty where none looks like it.
func (c *checker) hint(missing gvk.GroupVersionKind) string {
	var groups, kinds []string
	for _, gk := range kind.BuiltIn() {
		if gk.Kind == missing.Kind {
			groups = append(groups, gk.Group)
		}
		if _, served := c.known.Lookup(gk.WithVersion(missing.Version)); served && gk.Group == missing.Group {
			kinds = append(kinds, gk.Kind)
		}
	}
	slices.Sort(groups)
	for _, group := range groups {
		for _, version := range []string{"v1", "v2"} { // those that are stable
			gv := gvk.GroupVersion{Group: group, Version: version}
			if _, served := c.known.Lookup(gv.WithKind(missing.Kind)); served {
				return "; did you mean apiVersion " + gv.String() + "?"
			}
		}
	}
	slices.Sort(kinds)
	if nearest := syntax.Nearest(missing.Kind, kinds); nearest != "" {
		return "; did you mean " + nearest + "?"
	}
	return ""
}
