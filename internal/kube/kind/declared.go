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

// Schema returns the schema of a kind in that version, or nil where no definition has one.
func (d Declared) Schema(gvk schema.GroupVersionKind) map[string]any {
	for _, definition := range d {
		if declares(definition) != gvk.GroupKind() {
			continue
		}
		for _, version := range versions(definition) {
			if version["name"] == gvk.Version {
				return rootSchema(version)
			}
		}
	}
	return nil
}

// All returns the groups and kinds of the definitions.
func (d Declared) All() []schema.GroupKind {
	all := make([]schema.GroupKind, len(d))
	for i, definition := range d {
		all[i] = declares(definition)
	}
	return all
}

// Stored returns the kind that a CustomResourceDefinition asks for, in the version that its objects are stored in, or false where it serves
// no such version.
func Stored(definition map[string]any) (schema.GroupVersionKind, bool) {
	for _, version := range versions(definition) {
		if name, _ := version["name"].(string); version["storage"] == true && version["served"] == true {
			return declares(definition).WithVersion(name), true
		}
	}
	return schema.GroupVersionKind{}, false
}

// Guess returns what a kind is likely to be of which nothing is known but its name.
func Guess(gvk schema.GroupVersionKind) Kind {
	return Kind{Resource: plural(gvk), Kind: gvk.Kind, Namespaced: true}
}
