package spec

import v1 "github.com/templater-dev/templater/api/v1"

// Confine rewrites the spec of a NamespacedTemplateController so that its service account, parents, related objects and children are in its
// namespace. This is defense in depth: the validation rules of the CustomResourceDefinition already reject other specs. It is a no-op if
// namespace is empty.
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
