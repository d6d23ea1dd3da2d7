package outline

import (
	"slices"

	"go.yaml.in/yaml/v4"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/openapi"
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
		if gk.Group != missing.Group {
			continue // a lookup may read the schemas of its whole group
		}
		if _, served := c.Known.Lookup(gk.WithVersion(missing.Version)); served {
			kinds = append(kinds, gk.Kind)
		}
	}
	slices.Sort(groups)
	for _, group := range groups {
		for _, version := range []string{"v1", "v2"} { // those that are stable
			gv := gvk.GroupVersion{Group: group, Version: version}
			if _, served := c.Known.Lookup(gv.WithKind(missing.Kind)); served {
				return syntax.DidYouMean("apiVersion " + gv.String())
			}
		}
	}
	slices.Sort(kinds)
	return syntax.DidYouMean(syntax.Nearest(missing.Kind, kinds))
}

// unquote says how a value of the right kind is written, if that is how it differs.
func unquote(n *yaml.Node, t *openapi.Type) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		return ""
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return ": remove the quotes"
	case t.Kinds&openapi.String != 0:
		return ": quote it"
	}
	return ""
}

// asText says how what is printed becomes a text, if that is wanted.
func asText(want, got openapi.Kinds) string {
	if want&openapi.String == 0 || got&^(openapi.Integer|openapi.Number|openapi.Boolean) != 0 {
		return ""
	}
	return ": quote it"
}
