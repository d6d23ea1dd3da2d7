package model

// Right is a permission of the operators on children or related objects.
type Right struct{ Resource, Verb string }

func (r Right) String() string { return r.Verb + " " + r.Resource }

// Group is the API group of the children.
func (r Right) Group() string {
	if r.Resource == Plural(PartKind) {
		return Group
	}
	return ""
}

// Verbs are the operators' permissions on children.
var Verbs = []string{"get", "list", "watch", "create", "patch", "delete"}

// Rights are the permissions that may be withdrawn. Secrets are excluded, because the operator stores its keys in one.
var Rights = rights()

func rights() (all []Right) {
	for _, resource := range []string{"configmaps", Plural(PartKind)} {
		for _, verb := range Verbs {
			all = append(all, Right{resource, verb})
		}
	}
	for _, verb := range []string{"get", "list", "watch"} { // Pods are related objects, not children
		all = append(all, Right{"pods", verb})
	}
	return all
}
