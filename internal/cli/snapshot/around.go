package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Around is the input of a reconciliation of one parent.
type Around struct {
	Parent      *object.Object // in the version that is watched
	Definitions []map[string]any
	Children    []*object.Object
	Related     *Related
}

// Around reads the input of a reconciliation of the parent, or returns nil if the object is not a parent of the TemplateController. compiled is its
// compiled spec, which can be rejected.
func (s *Source) Around(ctx context.Context, tc *v1.TemplateController, compiled *spec.Compiled, parent *object.Object) (*Around, error) {
	where, err := s.Resource(compiled.GVK)
	if where == nil || err != nil {
		return nil, err
	}
	selector := fields.OneTermEqualSelector("metadata.name", parent.Name()).String()
	if compiled.Fields != "" {
		selector += "," + compiled.Fields
	}
	matching, err := s.list(ctx, where.Resource, parent.Namespace(), metav1.ListOptions{LabelSelector: compiled.Labels.String(), FieldSelector: selector})
	if err == nil {
		matching, err = s.inNamespaces(ctx, matching, compiled.NamespaceSelector)
	}
	if err != nil {
		return nil, failed(err, "list %s", where.Resource.GroupResource())
	}
	at := slices.IndexFunc(matching, func(o *object.Object) bool { return o.UID() == parent.UID() })
	if at < 0 || !admits(compiled, matching[at]) {
		return nil, nil //nolint:nilnil // not a parent
	}
	of := Labels{Controller: tc.Key(), Parent: parent.UID(), Kinds: ChildKinds(tc, compiled), Namespaces: ChildNamespaces(&tc.Spec)}
	if of.Namespaces != nil {
		of.Namespaces = []string{parent.Namespace()}
	}
	children, err := s.Children(ctx, of)
	if err != nil {
		return nil, err
	}
	out := &Around{Parent: matching[at], Children: children[parent.UID()]}
	if out.Definitions, err = s.Definitions(ctx, AllKinds(tc, compiled)); err != nil {
		return nil, err
	}
	out.Related, err = s.Related(ctx, compiled)
	return out, err
}

// Find returns the resource for a kind argument of a user: app, apps, App or apps.example.org.
func (s *Source) Find(word string) (*meta.RESTMapping, error) {
	gr := schema.ParseGroupResource(strings.ToLower(word))
	gvk, err := s.Kinds.KindFor(gr.WithVersion(""))
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the cluster does not serve kind %s: use a kind or a resource, such as Pod or pods; kubectl api-resources lists them, but short names are not supported", word)
	}
	if err != nil {
		return nil, failed(err, "API discovery")
	}
	return s.Resource(gvk)
}
