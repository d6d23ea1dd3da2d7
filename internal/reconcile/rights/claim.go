package rights

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Use is what templater does with the objects of a resource.
type Use int

// The uses.
const (
	Parents Use = iota
	Children
	Related
	Namespaces
	Status     // of parents
	Finalizers // of parents, where an admission plugin asks for it
	Holding    // of the finalizer of parents
	Events     // about parents
	Logs       // of Pods
	Existence  // of an object that a spec names: see Tracker.absent
)

// verbs are those that the use needs, in the order in which messages have them.
func (u Use) verbs() []string {
	switch u {
	case Parents:
		return []string{"get", "list", "watch"}
	case Children:
		return []string{"create", "delete", "get", "list", "patch", "watch"}
	case Related, Namespaces:
		return []string{"list", "watch"}
	case Status, Holding:
		return []string{"patch"}
	case Finalizers:
		return []string{"update"}
	case Events:
		return []string{"create", "patch"}
	case Logs, Existence:
		return []string{"get"}
	}
	return nil
}

// subresource is that of the resource which the use is of.
func (u Use) subresource() string {
	switch u {
	case Status:
		return "status"
	case Finalizers:
		return "finalizers"
	case Logs:
		return "log"
	case Parents, Children, Related, Namespaces, Events, Existence, Holding:
	}
	return ""
}

// Claim is the rights that a user needs for a use of a resource.
type Claim struct {
	As         string // empty = the operator itself
	Use        Use
	Resource   schema.GroupResource
	Namespaced bool   // whether the resource is
	Namespace  string // empty = all, or a cluster-scoped resource
	Unlimited  bool   // whether spec.watch.namespaces cannot limit where, for the parents are cluster-scoped, or their children may be anywhere
	Name       string // of the object; empty = all
	// acting is whether the rights are those of the operator, to act as the user.
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
	if sub := c.Use.subresource(); sub != "" {
		return c.Resource.Resource + "/" + sub
	}
	return c.Resource.Resource
}

// dotted is what follows the name of a resource to tell its group.
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
	text := c.kindOfRole() + " that a " + c.kindOfBinding() + " gives to it"
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
