package snapshot

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Parents returns the parents of a TemplateController, by namespace and name, or nil if the cluster does not have the kind.
func (s *Source) Parents(ctx context.Context, tc *v1.TemplateController, compiled *spec.Compiled) ([]*object.Object, error) {
	where, err := s.Resource(compiled.GVK)
	if where == nil || err != nil {
		return nil, err
	}
	o := metav1.ListOptions{LabelSelector: compiled.Labels.String(), FieldSelector: compiled.Fields}
	objects, err := s.listIn(ctx, where.Resource, tc.Spec.Watch.Namespaces, o)
	if err == nil {
		objects, err = s.inNamespaces(ctx, objects, compiled.NamespaceSelector)
	}
	if err != nil {
		return nil, failed(err, "list %s", where.Resource.GroupResource())
	}
	objects = slices.DeleteFunc(objects, func(o *object.Object) bool { return !admits(compiled, o) })
	slices.SortStableFunc(objects, func(a, b *object.Object) int { return object.CompareKeys(a.Key(), b.Key()) })
	return objects, nil
}

// admits reports whether watch.filter admits an object. If its evaluation fails, it does not.
func admits(compiled *spec.Compiled, o *object.Object) bool {
	if compiled.Program == nil || !compiled.Program.HasFilter() {
		return true
	}
	admitted, err := compiled.Program.Matches(o.Content())
	return err == nil && admitted
}

// Parent returns an object.
func (s *Source) Parent(ctx context.Context, at request.Location) (*object.Object, error) {
	o, err := s.Client.Get(ctx, at)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("no object %s in %s", types.NamespacedName{Namespace: at.Namespace, Name: at.Name}, at.Resource.GroupResource())
	}
	if err != nil {
		return nil, failed(err, "read %s %s", at.Resource.GroupResource(), at.Name)
	}
	return o, nil
}

// inNamespaces filters objects by a namespace selector; nil matches all.
func (s *Source) inNamespaces(ctx context.Context, objects []*object.Object, selector labels.Selector) ([]*object.Object, error) {
	if selector == nil || len(objects) == 0 {
		return objects, nil
	}
	namespaces, err := s.list(ctx, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, err
	}
	matching := map[string]bool{}
	for _, n := range namespaces {
		matching[n.Name()] = true
	}
	return slices.DeleteFunc(objects, func(o *object.Object) bool { return !matching[o.Namespace()] }), nil
}

// Children returns the objects of kinds with the label of a TemplateController, by the UID of the parent in their labels. Their
// seals are not verified, because the key is not available.
func (s *Source) Children(ctx context.Context, of Labels) (map[types.UID][]*object.Object, error) {
	label, name := v1.ControllerLabel(of.Controller)
	set := labels.Set{label: name}
	if of.Parent != "" {
		set[v1.LabelParentUID] = string(of.Parent)
	}
	out := map[types.UID][]*object.Object{}
	seen := map[schema.GroupKind]bool{}
	for _, gvk := range of.Kinds {
		where, err := s.Resource(gvk)
		if err != nil {
			return nil, err
		}
		if where == nil || seen[gvk.GroupKind()] {
			continue
		}
		seen[gvk.GroupKind()] = true
		namespaces := of.Namespaces
		if where.Scope.Name() != "namespace" {
			namespaces = nil
		}
		objects, err := s.listIn(ctx, where.Resource, namespaces, metav1.ListOptions{LabelSelector: set.String()})
		if err != nil {
			return nil, failed(err, "list %s", where.Resource.GroupResource())
		}
		for _, o := range objects {
			uid := types.UID(o.Label(v1.LabelParentUID))
			out[uid] = append(out[uid], o)
		}
	}
	return out, nil
}

// Labels selects children.
type Labels struct {
	Controller string
	Parent     types.UID // "" = all parents
	Kinds      []schema.GroupVersionKind
	Namespaces []string // nil = all
}

// ChildNamespaces returns the namespaces of children; nil = all. Permission to read other namespaces is not needed.
func ChildNamespaces(specs ...*v1.TemplateControllerSpec) []string {
	var out []string
	for _, one := range specs {
		if len(one.Watch.Namespaces) == 0 || spec.CrossScope(one) {
			return nil
		}
		out = append(out, one.Watch.Namespaces...)
	}
	return out
}
