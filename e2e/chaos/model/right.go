package model

// Right is one that the operators have, of children and related objects.
type Right struct{ Resource, Verb string }

func (r Right) String() string { return r.Verb + " " + r.Resource }

// Deletes reports whether it is the right to delete.
func (r Right) Deletes() bool { return r.Verb == "delete" }

// Group is the API group of the children.
func (r Right) Group() string {
	if r.Resource == Plural(PartKind) {
		return Group
	}
	return ""
}

// Verbs are what the operators may do to children.
var Verbs = []string{"get", "list", "watch", "create", "patch", "delete"}

// Rights are those that may be withdrawn. Of Secrets none is, as the operator keeps its keys in one.
var Rights = rights()

func rights() (all []Right) {
	for _, resource := range []string{"configmaps", Plural(PartKind)} {
		for _, verb := range Verbs {
			all = append(all, Right{resource, verb})
		}
	}
	for _, verb := range []string{"get", "list", "watch"} { // Pods are related objects, and no children
		all = append(all, Right{"pods", verb})
	}
	return all
}

// Part is the child that cannot be written of a parent of Whole, by Deprive.
func (a Action) Part() ChildID {
	return ChildID{Plural(PartKind), a.ID.Namespace, Whole + "-" + a.ID.Name}
}

// FarID is the child in another namespace that cannot be deleted of a parent of Wide, by Deprive.
func (a Action) FarID() ChildID {
	return ChildID{"configmaps", Far, Wide + "-" + a.ID.Namespace + "-" + a.ID.Name}
}
