package permissions

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Claim is the permissions that a user needs for a use of a resource.
type Claim struct {
	As         string // empty = the operator itself
	Use        Use
	Resource   schema.GroupResource
	Namespaced bool   // whether the resource is
	Namespace  string // empty = all, or a cluster-scoped resource
	Unlimited  bool   // whether spec.watch.namespaces cannot limit where, for the parents are cluster-scoped, or their children may be anywhere
	Name       string // of the object; empty = all
	// acting is whether the permissions are those of the operator, to impersonate the user.
	acting bool
}

// what names the resource and where it is: "configmaps in namespace a".
func (c Claim) what() string {
	switch {
	case c.Namespace != "":
		return c.Brief()
	case c.Namespaced:
		return c.Brief() + " in all namespaces"
	}
	return c.Brief() + " in the cluster"
}

// Brief names the resource, and the namespace if it is about one.
func (c Claim) Brief() string {
	name := c.fullName() + dotted(c.Resource)
	if c.Namespace != "" {
		name += " in namespace " + c.Namespace
	}
	return name
}

func (c Claim) fullName() string {
	return c.Use.Resource(c.Resource.Resource)
}

// dotted is the group of a resource as a suffix of its name.
func dotted(resource schema.GroupResource) string {
	if resource.Group == "" {
		return ""
	}
	return "." + resource.Group
}

// rule is the rule of a role that grants the verbs.
func (c Claim) rule(verbs []string) string {
	group := c.Resource.Group
	if group == "" {
		group = `""`
	}
	return fmt.Sprintf("{apiGroups: [%s], resources: [%s], verbs: [%s]}", group, c.fullName(), strings.Join(verbs, ", "))
}

// role names the role that the rule is for.
func (c Claim) role() string {
	if c.As == "" {
		return `a ClusterRole labelled rbac.templater.dev/aggregate-to-templater: "true"`
	}
	text := c.kindOfRole() + " bound to it by a " + c.kindOfBinding()
	if c.Namespaced && c.Namespace == "" && (!c.Unlimited || c.Use == Related) {
		text += ", or limit " + c.limit()
	}
	return text
}

// limit names the field that can limit where.
func (c Claim) limit() string {
	if c.Use == Related {
		return "namespaces in its entry of spec.related"
	}
	return "spec.watch.namespaces"
}

func (c Claim) kindOfRole() string {
	if c.Namespace == "" {
		return "a ClusterRole"
	}
	return "a Role in namespace " + c.Namespace
}

func (c Claim) kindOfBinding() string {
	if c.Namespace == "" {
		return "ClusterRoleBinding"
	}
	return "RoleBinding"
}

// mayNot says that the verbs are missing, with the rule for those to add.
func mayNot(need Claim, missing, add []string) string {
	return fmt.Sprintf("%s is not allowed to %s %s: add %s to %s", DisplayName(need.As), problem.And(missing), need.what(), need.rule(add), need.role())
}

// mayNotAct returns which permission the operator lacks to impersonate the claim's user.
func mayNotAct(need Claim, f finding, operator string) string {
	namespace, name := spec.Account(need.As)
	if !f.constrained {
		return fmt.Sprintf(`templater is not allowed to impersonate %s: add {apiGroups: [""], resources: [serviceaccounts], resourceNames: [%s], verbs: [impersonate]} to a Role in namespace %s bound to %s by a RoleBinding`,
			DisplayName(need.As), name, namespace, operator)
	}
	verbs := f.missing
	if len(verbs) == 0 {
		for _, verb := range need.Use.Verbs() {
			verbs = append(verbs, actingPrefix+verb)
		}
	}
	plain, quoted := make([]string, len(verbs)), make([]string, len(verbs))
	for i, verb := range verbs {
		plain[i], quoted[i] = strings.TrimPrefix(verb, actingPrefix), `"`+verb+`"`
	}
	return fmt.Sprintf("templater is allowed to impersonate %s, but not to %s %s: add %s to %s bound to %s by a %s",
		DisplayName(need.As), problem.And(plain), need.what(), need.rule(quoted), need.kindOfRole(), operator, need.kindOfBinding())
}

// DisplayName names a user.
func DisplayName(user string) string {
	if user == "" {
		return "templater"
	}
	namespace, name := spec.Account(user)
	return "service account " + namespace + "/" + name
}
