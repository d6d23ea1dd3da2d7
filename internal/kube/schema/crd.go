package schema

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// FromCRD returns the types of a kind, in all versions that its definition serves. It knows that there are no others,
// and of other kinds nothing.
func FromCRD(definition *apiextensionsv1.CustomResourceDefinition) Set {
	spec := definition.Spec
	kind := definition.Status.AcceptedNames.Kind
	if kind == "" {
		kind = spec.Names.Kind
	}
	gk := schema.GroupKind{Group: spec.Group, Kind: kind}
	in := clusterScoped
	if spec.Scope == apiextensionsv1.NamespaceScoped {
		in = namespaced
	}
	set := &types{
		byKind: map[schema.GroupVersionKind]*Type{},
		whole:  func(gvk schema.GroupVersionKind) bool { return gvk.GroupKind() == gk },
	}
	r := &reader{structural: true, sharer: newSharer()}
	for i := range spec.Versions {
		version := &spec.Versions[i]
		if !version.Served {
			continue
		}
		gvk := gk.WithVersion(version.Name)
		var t *Type
		// Before they were structural, schemas could only forbid: the server keeps what they do not name.
		if version.Schema != nil && !spec.PreserveUnknownFields {
			t = r.read(version.Schema.OpenAPIV3Schema, 0)
		}
		set.byKind[gvk] = whole(t, gvk, objectMeta[in][true])
	}
	return set
}
