package permissions

// Use is a way in which templater uses the objects of a resource.
type Use int

// The uses.
const (
	Parents Use = iota
	Children
	FormerChildren // of kinds that the templates no longer render
	Related
	Namespaces
	Status     // of parents
	Finalizers // of parents, if an admission plugin requires it
	Holding    // adding or removing the finalizer of parents
	Events     // about parents
	Logs       // of Pods
	CRDs       // CustomResourceDefinitions, of spec.crd
	Existence  // of an object that a spec refers to, see Tracker.absent
)

// Verbs returns the required verbs, in message order.
func (u Use) Verbs() []string {
	switch u {
	case Parents:
		return []string{"get", "list", "watch"}
	case Children:
		return []string{"create", "delete", "get", "list", "patch", "watch"}
	case FormerChildren, Related, Namespaces:
		return []string{"list", "watch"}
	case Status, Holding:
		return []string{"patch"}
	case Finalizers:
		return []string{"update"}
	case Events, CRDs:
		return []string{"create", "patch"}
	case Logs, Existence:
		return []string{"get"}
	}
	return nil
}

// Subresource returns the subresource, or "".
func (u Use) Subresource() string {
	switch u {
	case Status:
		return "status"
	case Finalizers:
		return "finalizers"
	case Logs:
		return "log"
	case Parents, Children, FormerChildren, Related, Namespaces, Events, CRDs, Existence, Holding:
	}
	return ""
}

// Resource returns the name of a resource as used in RBAC rules, with the subresource of the use.
func (u Use) Resource(resource string) string {
	if sub := u.Subresource(); sub != "" {
		return resource + "/" + sub
	}
	return resource
}
