package spec

import v1 "github.com/templater-dev/templater/api/v1"

// Confine limits a spec to a namespace: the spec of a NamespacedTemplateController has nothing outside its own. The rules of its
// CustomResourceDefinition already refuse what Confine changes. Without a namespace, it does nothing.
func Confine(namespace string, spec *v1.TemplateControllerSpec) {
	if namespace == "" {
		return
	}
	account := v1.ServiceAccountRef{Namespace: namespace}
	if spec.ServiceAccountRef != nil {
		account.Name = spec.ServiceAccountRef.Name
	}
	spec.ServiceAccountRef, spec.CRD = &account, nil
	spec.Watch.Namespaces, spec.Watch.NamespaceSelector = []string{namespace}, nil
	for i := range spec.Related {
		spec.Related[i].Namespaces, spec.Related[i].NamespaceSelector = []string{namespace}, nil
	}
	for child := range allEntries(spec) {
		child.Scope = v1.ScopeNamespaced
	}
}
