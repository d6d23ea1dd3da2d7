package simulate

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
)

// Holding returns a State that knows which fields of a cluster's objects the TemplateController applied, so that removed fields are removed.
// Otherwise, without managedFields, they count as set by others, and are kept.
func (s *Simulator) Holding(in State, parent *object.Object, children []*object.Object) State {
	in = in.copy()
	in.Parent = s.withManaged(in.Parent, parent, "status")
	for _, o := range children {
		if at := in.find(child.IDOf(o.Content())); at >= 0 {
			in.Objects[at] = s.withManaged(in.Objects[at], o, "")
		}
	}
	return in
}

// withManaged returns content with the managedFields entry of the TemplateController from an object.
func (s *Simulator) withManaged(content map[string]any, o *object.Object, subresource string) map[string]any {
	manager := v1.FieldManager(s.name)
	set := o.Applied(manager, subresource)
	if set == nil {
		return content
	}
	out := &unstructured.Unstructured{Object: memserver.Patch(content, map[string]any{"metadata": map[string]any{"managedFields": nil}})}
	memserver.Own(out, manager, subresource, set)
	return out.Object
}
