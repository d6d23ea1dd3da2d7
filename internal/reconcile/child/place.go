package child

import (
	"fmt"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
)

// place fills in the namespace. It returns what is wrong, or "".
func (f *Factory) place(content map[string]any, kind kind.Kind, scope v1.ChildScope, parent *object.Object) string {
	anywhere := !f.ParentKind.Namespaced || scope == v1.ScopeCluster
	switch ns := nameOf(content).Namespace; {
	case !kind.Namespaced && !anywhere:
		return fmt.Sprintf("a %s is cluster-scoped and cannot belong to the namespaced %s: owner references do not cross that line; set scope: Cluster in this entry, or watch a cluster-scoped kind", kind.Kind, f.ParentKind.Kind)
	case !kind.Namespaced && ns != "":
		return fmt.Sprintf("a %s is cluster-scoped: remove metadata.namespace", kind.Kind)
	case !kind.Namespaced:
	case ns == "" && f.ParentKind.Namespaced:
		below(content, "metadata")["namespace"] = parent.Namespace()
	case ns == "":
		return fmt.Sprintf("a %s is namespaced and its parent is not: set metadata.namespace", kind.Kind)
	case !anywhere && ns != parent.Namespace():
		return "the child must be in its parent's namespace, because owner references do not cross namespaces: remove metadata.namespace, or set scope: Cluster in this entry"
	}
	return ""
}

// crossScope reports whether no owner reference binds an object in that namespace to its parent: the objects of an entry of
// scope Cluster have none wherever they are, and where one would cross a namespace the garbage collector would take the object for
// one whose owner is gone.
func crossScope(entry *v1.Child, namespace string, parent *object.Object) bool {
	return entry.Scope == v1.ScopeCluster || parent.Namespace() != "" && namespace != parent.Namespace()
}

// parentAddress tells the parent of children in other namespaces, or in none.
func (m *Maker) parentAddress() string {
	if m.address == "" {
		m.address = object.ParentAddress(m.Parent.Namespace(), m.Parent.Name())
	}
	return m.address
}
