package snapshot

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Resource returns the resource mapping of a kind, or nil if the cluster does not have it.
func (s *Source) Resource(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := s.Kinds.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return nil, nil //nolint:nilnil // there is none, which is no error
	case err != nil:
		return nil, failed(err, "API discovery")
	}
	return mapping, nil
}

// ChildKinds returns the kinds in status.childKinds, and those that the templates contain, without
// spec.finalize. compiled can be nil.
func ChildKinds(tc *v1.TemplateController, compiled *spec.Compiled) []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	add := func(gvk schema.GroupVersionKind) {
		if !slices.Contains(out, gvk) {
			out = append(out, gvk)
		}
	}
	if compiled != nil && compiled.Program != nil {
		for _, entry := range tc.Spec.Children {
			yields, _ := outline.Yields(compiled.Program, entry.Name)
			for _, y := range yields {
				add(schema.FromAPIVersionAndKind(y.APIVersion, y.Kind))
			}
		}
	}
	for _, k := range tc.Status.ChildKinds {
		gvk := schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
		if !slices.ContainsFunc(out, func(other schema.GroupVersionKind) bool { return other.GroupKind() == gvk.GroupKind() }) {
			add(gvk)
		}
	}
	return out
}

// AllKinds returns ChildKinds, the kind of the parents, and the kinds of related objects.
func AllKinds(tc *v1.TemplateController, compiled *spec.Compiled) []schema.GroupVersionKind {
	kinds := append(ChildKinds(tc, compiled), compiled.GVK)
	for i := range compiled.Related {
		kinds = append(kinds, compiled.Related[i].GVK)
	}
	return kinds
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Definitions returns the CustomResourceDefinitions of kinds. If one does not exist or cannot be read, it is derived from
// discovery. Kinds that the cluster does not have are omitted.
func (s *Source) Definitions(ctx context.Context, kinds []schema.GroupVersionKind) ([]map[string]any, error) {
	var out []map[string]any
	builtIn, seen := kind.BuiltIn(), map[schema.GroupKind]bool{}
	for _, gvk := range kinds {
		if slices.Contains(builtIn, gvk.GroupKind()) || seen[gvk.GroupKind()] {
			continue
		}
		mapping, err := s.Resource(gvk)
		if err != nil {
			return nil, err
		}
		if mapping == nil {
			continue
		}
		seen[gvk.GroupKind()] = true
		o, err := s.Client.Get(ctx, request.Location{Resource: definitions, Name: mapping.Resource.GroupResource().String()})
		switch {
		case err == nil:
			out = append(out, o.Content())
		case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
			out = append(out, madeUp(mapping))
		default:
			return nil, failed(err, "read the CustomResourceDefinition of %s", gvk.Kind)
		}
	}
	return out, nil
}

// madeUp returns a CustomResourceDefinition for a kind without a known schema: its status can have any field.
func madeUp(mapping *meta.RESTMapping) map[string]any {
	scope := "Cluster"
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		scope = "Namespaced"
	}
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	conditions := map[string]any{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"}, "items": open}
	return map[string]any{"spec": map[string]any{
		"group": mapping.Resource.Group, "scope": scope,
		"names": map[string]any{"kind": mapping.GroupVersionKind.Kind, "plural": mapping.Resource.Resource},
		"versions": []any{map[string]any{
			"name": mapping.Resource.Version, "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"properties": map[string]any{
				"status": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": map[string]any{"conditions": conditions}},
			}}},
		}},
	}}
}
