package permissions

// Use is what templater does with the objects of a resource.
type Use int

// The uses.
const (
	Parents Use = iota
	Children
	FormerChildren // of kinds that the templates no longer yield
	Related
	Namespaces
	Status     // of parents
	Finalizers // of parents, where an admission plugin asks for it
	Holding    // of the finalizer of parents
	Events     // about parents
	Logs       // of Pods
	Existence  // of an object that a spec names: see Tracker.absent
)

// Verbs are those that the use needs, in the order in which messages have them.
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
	case Events:
		return []string{"create", "patch"}
	case Logs, Existence:
		return []string{"get"}
	}
	return nil
}

// Subresource is that of the resource which the use is of, or "".
func (u Use) Subresource() string {
	switch u {
	case Status:
		return "status"
	case Finalizers:
		return "finalizers"
	case Logs:
		return "log"
	case Parents, Children, FormerChildren, Related, Namespaces, Events, Existence, Holding:
	}
	return ""
}

// Resource returns the name of a resource as rules of roles have it, with the subresource that the use is of.
func (u Use) Resource(resource string) string {
	if sub := u.Subresource(); sub != "" {
		return resource + "/" + sub
	}
	return resource
}
