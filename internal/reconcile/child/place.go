package child

import (
	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// place fills in the namespace. It returns what is wrong, or "".
func (f *Factory) place(content map[string]any, kind kind.Kind, scope v1.ChildScope, parent *object.Object) string {
	namespace := nameOf(content).Namespace
	placing := spec.Placing{Child: kind.Kind, Parent: f.ParentKind.Kind, ChildNamespaced: kind.Namespaced, ParentNamespaced: f.ParentKind.Namespaced, Scope: scope}
	if fault := placing.Fault(namespace, parent.Namespace()); fault.What != "" {
		return fault.String()
	}
	if namespace == "" && kind.Namespaced {
		below(content, "metadata")["namespace"] = parent.Namespace()
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
