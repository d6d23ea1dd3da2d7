package spec

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
)

// CrossScope reports whether children may be in other namespaces than their parents, or cluster-scoped, because a child template has scope
// Cluster.
func CrossScope(spec *v1.TemplateControllerSpec) bool {
	return slices.ContainsFunc(spec.Children, ofScopeCluster) || slices.ContainsFunc(Finals(spec), ofScopeCluster)
}

func ofScopeCluster(c v1.Child) bool { return c.Scope == v1.ScopeCluster }

// checkScope returns a rejection if the scope is not supported for the kind of the parents, or nil.
func checkScope(spec *v1.TemplateControllerSpec, kind kind.Kind) *Rejection {
	if kind.Namespaced {
		return nil
	}
	const text = "%s is cluster-scoped, so its children can be in any namespace without it: remove scope"
	if i := slices.IndexFunc(spec.Children, ofScopeCluster); i >= 0 {
		return unfit(v1.ReasonInvalidSpec, inChildren.entry(spec.Children[i].Name)+".scope", text, kind.Kind)
	}
	if i := slices.IndexFunc(Finals(spec), ofScopeCluster); i >= 0 {
		return unfit(v1.ReasonInvalidSpec, inFinalize.entry(spec.Finalize.Children[i].Name)+".scope", text, kind.Kind)
	}
	return nil
}

// Placing describes the kinds of a child and its parent.
type Placing struct {
	Child, Parent                     string // names of the kinds
	ChildNamespaced, ParentNamespaced bool
	Scope                             v1.ChildScope
	// Confined: the child is of a NamespacedTemplateController, which has no scope Cluster.
	Confined bool
}

// PlaceFault explains why a child is not allowed in a namespace. The zero value means that it is allowed.
type PlaceFault struct{ What, Why, Advice string }

// String returns the fault as one sentence.
func (f PlaceFault) String() string {
	if f.Why == "" {
		return f.What + ": " + f.Advice
	}
	return f.What + ": " + f.Why + "; " + f.Advice
}

// Fault returns why a child is not allowed in a namespace, if its parent is in the namespace home. namespace is "" if the template sets none.
func (p Placing) Fault(namespace, home string) PlaceFault {
	anywhere := !p.ParentNamespaced || p.Scope == v1.ScopeCluster
	switch {
	case !p.ChildNamespaced && !anywhere:
		return PlaceFault{
			fmt.Sprintf("a %s is cluster-scoped and cannot be owned by the namespaced %s", p.Child, p.Parent),
			"an owner reference cannot point from a cluster-scoped to a namespaced object", p.elsewhere("set scope: Cluster in this child template, or watch a cluster-scoped kind"),
		}
	case !p.ChildNamespaced && namespace != "":
		return PlaceFault{fmt.Sprintf("a %s is cluster-scoped", p.Child), "", "remove metadata.namespace"}
	case !p.ChildNamespaced:
	case namespace == "" && !p.ParentNamespaced:
		return PlaceFault{fmt.Sprintf("a %s is namespaced and its parent is not", p.Child), "", "set metadata.namespace"}
	case namespace != "" && !anywhere && namespace != home:
		return PlaceFault{
			"the child must be in its parent's namespace, because owner references do not cross namespaces",
			"", "remove metadata.namespace, or " + p.elsewhere("set scope: Cluster in this child template"),
		}
	}
	return PlaceFault{}
}

// AskForController advises the author of a NamespacedTemplateController that needs objects beyond its namespace.
const AskForController = "ask an administrator for a TemplateController"

// elsewhere returns the advice for a child that the namespace of its parent cannot contain.
func (p Placing) elsewhere(advice string) string {
	if p.Confined {
		return AskForController
	}
	return advice
}

// AccountPrefix is the prefix of the user names of service accounts.
// https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/
const AccountPrefix = "system:serviceaccount:"

// User returns the user to impersonate, or "" for the operator itself.
func User(spec *v1.TemplateControllerSpec) string {
	if spec.ServiceAccountRef == nil {
		return ""
	}
	return AccountPrefix + spec.ServiceAccountRef.Namespace + ":" + spec.ServiceAccountRef.Name
}

// Account parses a user name into the namespace and name of its service account.
func Account(user string) (namespace, name string) {
	namespace, name, _ = strings.Cut(strings.TrimPrefix(user, AccountPrefix), ":")
	return namespace, name
}

// ChildNamespaces returns the namespaces in which children are watched; nil means all. A service account only needs permissions in the
// namespaces of the parents, unless a child template has objects in others. The operator itself watches all namespaces, because it shares its
// watches.
func ChildNamespaces(spec *v1.TemplateControllerSpec) []string {
	if spec.ServiceAccountRef == nil || len(spec.Watch.Namespaces) == 0 || CrossScope(spec) {
		return nil
	}
	return spec.Watch.Namespaces
}
