package permissions

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Requirement describes the permissions that a user needs to use a resource.
type Requirement struct {
	As         string // empty = the operator itself
	Use        Use
	Resource   schema.GroupResource
	Namespaced bool   // the resource is namespaced
	Namespace  string // empty = all, or a cluster-scoped resource
	// Unlimited means that spec.watch.namespaces cannot limit the namespaces, because the parents are cluster-scoped or
	// their children may be in any namespace.
	Unlimited bool
	Name      string // name of the object; empty = all
	// impersonation means that the operator needs the permissions, to impersonate the user.
	impersonation bool
}

// what returns the resource and where it is, such as "configmaps in namespace a".
func (c Requirement) what() string {
	switch {
	case c.Namespace != "":
		return c.Brief()
	case c.Namespaced:
		return c.Brief() + " in all namespaces"
	}
	return c.Brief() + " in the cluster"
}

// Brief returns the resource name, with the namespace if set.
func (c Requirement) Brief() string {
	name := c.fullName() + dotted(c.Resource)
	if c.Namespace != "" {
		name += " in namespace " + c.Namespace
	}
	return name
}

func (c Requirement) fullName() string {
	return c.Use.Resource(c.Resource.Resource)
}

// dotted returns the group of a resource as a suffix of its name.
func dotted(resource schema.GroupResource) string {
	if resource.Group == "" {
		return ""
	}
	return "." + resource.Group
}

// rule returns the RBAC rule that grants the verbs.
func (c Requirement) rule(verbs []string) string {
	group := c.Resource.Group
	if group == "" {
		group = `""`
	}
	return fmt.Sprintf("{apiGroups: [%s], resources: [%s], verbs: [%s]}", group, c.fullName(), strings.Join(verbs, ", "))
}

// role describes the role to add the rule to.
func (c Requirement) role() string {
	if c.As == "" {
		return `a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: "true"`
	}
	text := c.kindOfRole() + " bound to it by a " + c.kindOfBinding()
	if c.Namespaced && c.Namespace == "" && (!c.Unlimited || c.Use == Related) {
		text += ", or limit " + c.limit()
	}
	return text
}

// limit returns the field that can limit the namespaces.
func (c Requirement) limit() string {
	if c.Use == Related {
		return "namespaces in its entry of spec.related"
	}
	return "spec.watch.namespaces"
}

func (c Requirement) kindOfRole() string {
	if c.Namespace == "" {
		return "a ClusterRole"
	}
	return "a Role in namespace " + c.Namespace
}

func (c Requirement) kindOfBinding() string {
	if c.Namespace == "" {
		return "ClusterRoleBinding"
	}
	return "RoleBinding"
}

// notAllowed returns the message for missing verbs, with the rule that adds the verbs in add.
func notAllowed(need Requirement, missing, add []string) string {
	return fmt.Sprintf("%s is not allowed to %s %s: add %s to %s", DisplayName(need.As), problem.And(missing), need.what(), need.rule(add), need.role())
}

// notAllowedToImpersonate returns the message for the permission that the operator lacks to impersonate the claim's user.
func notAllowedToImpersonate(need Requirement, f reviewResult, operator string) string {
	namespace, name := spec.Account(need.As)
	if !f.constrained {
		return fmt.Sprintf(`templater is not allowed to impersonate %s: add {apiGroups: [""], resources: [serviceaccounts], resourceNames: [%s], verbs: [impersonate]} to a Role in namespace %s bound to %s by a RoleBinding`,
			DisplayName(need.As), name, namespace, operator)
	}
	verbs := f.missing
	if len(verbs) == 0 {
		for _, verb := range need.Use.Verbs() {
			verbs = append(verbs, impersonationPrefix+verb)
		}
	}
	plain, quoted := make([]string, len(verbs)), make([]string, len(verbs))
	for i, verb := range verbs {
		plain[i], quoted[i] = strings.TrimPrefix(verb, impersonationPrefix), `"`+verb+`"`
	}
	return fmt.Sprintf("templater is not allowed to impersonate %s to %s %s: add %s to %s bound to %s by a %s",
		DisplayName(need.As), problem.And(plain), need.what(), need.rule(quoted), need.kindOfRole(), operator, need.kindOfBinding())
}

// DisplayName returns a user as messages show it; "" is the operator.
func DisplayName(user string) string {
	if user == "" {
		return "templater"
	}
	namespace, name := spec.Account(user)
	return "service account " + namespace + "/" + name
}
