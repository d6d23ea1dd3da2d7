package outline

import (
	"slices"

	"go.yaml.in/yaml/v4"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// hint returns the end of a message about an unknown kind: a suggestion of a built-in kind,
// or "" if none is similar.
func (c *checker) hint(missing gvk.GroupVersionKind) string {
	var groups, kinds []string
	for _, gk := range kind.BuiltIn() {
		if gk.Kind == missing.Kind {
			groups = append(groups, gk.Group)
		}
		if gk.Group != missing.Group {
			continue // a lookup can read the schemas of its whole group
		}
		if _, served := c.Known.Lookup(gk.WithVersion(missing.Version)); served {
			kinds = append(kinds, gk.Kind)
		}
	}
	slices.Sort(groups)
	for _, group := range groups {
		for _, version := range []string{"v1", "v2"} { // stable versions
			gv := gvk.GroupVersion{Group: group, Version: version}
			if _, served := c.Known.Lookup(gv.WithKind(missing.Kind)); served {
				return syntax.DidYouMean("apiVersion " + gv.String())
			}
		}
	}
	slices.Sort(kinds)
	return syntax.DidYouMean(syntax.Nearest(missing.Kind, kinds))
}

// unquote suggests to remove quotes, if only they make the value wrong.
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

// asText suggests how to print a value as a string, if a string is expected.
func asText(want, got openapi.JSONTypes) string {
	if want&openapi.String == 0 || got&^(openapi.Integer|openapi.Number|openapi.Boolean) != 0 {
		return ""
	}
	return ": quote it"
}
