package watch

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Role is the purpose of the objects of a Want. It determines how they are indexed.
type Role int

// The roles.
const (
	// Parent objects are the objects for which templates are rendered.
	Parent Role = iota
	// Child objects are indexed for Children and ChildrenNamed.
	Child
	// Related objects are read by templates, whoever owns them. They are indexed for Find.
	Related
	// Namespace objects are watched for their labels.
	Namespace
	// Definition objects are CustomResourceDefinitions. Of their schemas, only the status is kept. They are indexed for
	// Definitions.
	Definition
	// Controller objects are TemplateControllers.
	Controller
	// Seal is the Secret with the keys for seals.
	Seal
	// Webhook objects are the Secret with the certificate of the admission webhook, and its configuration.
	Webhook
)

// Want selects a set of objects to cache. It is comparable: equal wants share one watch.
type Want struct {
	Resource  schema.GroupVersionResource
	Namespace string // empty = all namespaces, or a cluster-scoped resource
	Labels    string // label selector; empty = all
	Fields    string // field selector; empty = all
	Role      Role
	As        string // user to impersonate; empty = the operator itself
}

// String describes the want for logs.
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
