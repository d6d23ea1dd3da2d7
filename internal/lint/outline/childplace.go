package outline

import (
	"slices"

	"go.yaml.in/yaml/v4"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// placed reports a child whose namespace or scope is not allowed for the parents, if the text decides it: see spec.Placing.
func (at *docCheck) placed(root *yaml.Node, of *openapi.Type) {
	parents, known := at.c.scopeOf(at.c.Spec.Watch.APIVersion, at.c.Spec.Watch.Kind)
	children, alsoKnown := of.Namespaced()
	if !known || !alsoKnown {
		return
	}
	namespace, home := "", "that of the parent"
	if children && (at.s.Adds() || mayHave(entryOf(root, "metadata"), "namespace")) {
		namespace = home // depends on data
	}
	placing := spec.Placing{Child: at.object, Parent: at.c.Spec.Watch.Kind, ChildNamespaced: children, ParentNamespaced: parents, Scope: at.c.scope(at.s.Text.Name), Confined: at.c.Namespaced}
	if fault := placing.Fault(namespace, home); fault.What != "" {
		at.c.Warn(finding.ChildPlace, at.place(entryOf(root, "kind")), "%s: %s", fault.What, fault.Advice)
	}
}

// scopeOf reports whether a kind is namespaced, and whether that is known.
func (c *checker) scopeOf(apiVersion, kind string) (namespaced, known bool) {
	return c.lookup(apiVersion, kind).Namespaced()
}

// lookup returns the type of a kind, or nil if it is unknown.
func (c *checker) lookup(apiVersion, kind string) *openapi.Type {
	gv, err := gvk.ParseGroupVersion(apiVersion)
	if err != nil || c.Known == nil {
		return nil
	}
	t, _ := c.Known.Lookup(gv.WithKind(kind))
	return t
}

// scope returns the scope of the child template with that name.
func (c *checker) scope(template string) v1.ChildScope {
	for _, entry := range slices.Concat(c.Spec.Children, spec.Finals(c.Spec)) {
		if syntax.ChildName(entry.Name) == template {
			return entry.Scope
		}
	}
	return ""
}

// mayHave reports whether the rendered node can have a key.
func mayHave(n *yaml.Node, key string) bool {
	if n.Kind != yaml.MappingNode {
		return true
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Value == key || k.Kind != yaml.ScalarNode || PrintedIn(k.Value) || k.Tag == "!!merge" {
			return true
		}
	}
	return false
}
