package watch

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Role says what the objects of a Want are kept for, and so how they can be found.
type Role int

// The roles.
const (
	// Parent objects are those that templates are rendered for.
	Parent Role = iota
	// Child objects are found by Children and ChildrenNamed.
	Child
	// Related objects are read, whosever they are. They are found by Find.
	Related
	// Namespace objects are kept for their labels.
	Namespace
	// Definition objects are CustomResourceDefinitions without the parts of their
	// schemas that do not concern status. They are found by Definitions.
	Definition
	// Controller objects are TemplateControllers.
	Controller
	// Seal is the Secret with the keys of seals.
	Seal
	// Webhook is what the admission webhook needs: the Secret with its certificate, and its configuration.
	Webhook
)

// Want names a set of objects to keep a copy of. It is comparable: equal wants share one watch.
type Want struct {
	Resource  schema.GroupVersionResource
	Namespace string // empty = all namespaces, or a cluster-scoped resource
	Labels    string // label selector in its text form; empty = all
	Fields    string // field selector in its text form; empty = all
	Role      Role
	As        string // user that reads; empty = the operator itself
}

// String names the want in logs.
func (w Want) String() string {
	s := w.Resource.GroupResource().String() + "/" + w.Resource.Version
	if w.Namespace != "" {
		s += " in " + w.Namespace
	}
	if w.Labels != "" {
		s += fmt.Sprintf(" labels %q", w.Labels)
	}
	if w.Fields != "" {
		s += fmt.Sprintf(" fields %q", w.Fields)
	}
	if w.As != "" {
		s += " as " + w.As
	}
	return s
}
