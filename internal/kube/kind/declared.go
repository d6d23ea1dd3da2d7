package kind

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Declared finds kinds without a server: those of CustomResourceDefinitions, as files have them, and those that come with
// Kubernetes. It is safe for concurrent use.
type Declared []map[string]any

// Resolve returns the kind in that version. The error is a *NotFoundError.
func (d Declared) Resolve(gvk schema.GroupVersionKind) (Kind, error) {
	missing := &NotFoundError{GVK: gvk}
	for _, definition := range d {
		if declares(definition) != gvk.GroupKind() {
			continue
		}
		if kind, served := inDefinition(definition, gvk.Version); served {
			return kind, nil
		}
		missing.Served = anyVersion(definition)
	}
	if kind, found := builtIn(gvk); found {
		return kind, nil
	}
	return Kind{}, missing
}

// All returns the groups and kinds of the definitions.
func (d Declared) All() []schema.GroupKind {
	all := make([]schema.GroupKind, len(d))
	for i, definition := range d {
		all[i] = declares(definition)
	}
	return all
}

// Guess returns what a kind is likely to be of which nothing is known but its name.
func Guess(gvk schema.GroupVersionKind) Kind {
	return Kind{Resource: plural(gvk), Kind: gvk.Kind, Namespaced: true}
}
