package model

// Permission is a permission of the operators on children or related objects.
type Permission struct{ Resource, Verb string }

func (r Permission) String() string { return r.Verb + " " + r.Resource }

// Group is the API group of the children.
func (r Permission) Group() string {
	if r.Resource == Plural(PartKind) {
		return Group
	}
	return ""
}

// Verbs are the operators' permissions on children.
var Verbs = []string{"get", "list", "watch", "create", "patch", "delete"}

// Permissions are the permissions that may be revoked. Secrets are excluded, because the operator stores its keys in one.
var Permissions = permissions()

func permissions() (all []Permission) {
	for _, resource := range []string{"configmaps", Plural(PartKind)} {
		for _, verb := range Verbs {
			all = append(all, Permission{resource, verb})
		}
	}
	for _, verb := range []string{"get", "list", "watch"} { // Pods are related objects, not children
		all = append(all, Permission{"pods", verb})
	}
	return all
}
