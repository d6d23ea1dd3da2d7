package cases

import (
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// id identifies an object.
type id struct{ group, kind, namespace, name string }

// String returns for example ConfigMap default/a.
func (i id) String() string { return simulate.Named(i.kind, i.namespace, i.name) }

var errNoObject = errors.New("an object needs apiVersion, kind and metadata.name")

// id returns the identity of an object. The namespace defaults to that of the parent if the kind is namespaced.
func (f *fixture) id(o map[string]any) (id, error) {
	metadata, _ := o["metadata"].(map[string]any)
	apiVersion, _ := o["apiVersion"].(string)
	i := id{group: schema.FromAPIVersionAndKind(apiVersion, "").Group}
	i.kind, _ = o["kind"].(string)
	i.name, _ = metadata["name"].(string)
	if apiVersion == "" || i.kind == "" || i.name == "" {
		return i, errNoObject
	}
	i.namespace = f.simulator.Namespace(o, f.state.Parent)
	return i, nil
}

// find returns the object with that identity, or nil.
func (f *fixture) find(of id, all []map[string]any) map[string]any {
	for _, o := range all {
		if other, _ := f.id(o); other == of {
			return o
		}
	}
	return nil
}

// similar suggests an object of the kind with a similar name, or returns "".
func (f *fixture) similar(to id, all []map[string]any) string {
	byName := map[string]string{}
	for _, o := range all {
		if other, _ := f.id(o); other.kind == to.kind {
			byName[other.name] = other.String()
		}
	}
	return syntax.DidYouMean(byName[syntax.Nearest(to.name, slices.Sorted(maps.Keys(byName)))])
}

// saysWhose reports whether labels or owner references of an object name its owner.
func saysWhose(o map[string]any) bool {
	metadata, _ := o["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	owners, _ := metadata["ownerReferences"].([]any)
	for _, label := range []string{v1.LabelChild, v1.LabelController, v1.LabelNamespacedController, v1.LabelParentUID} {
		if labels[label] != nil {
			return true
		}
	}
	return len(owners) > 0
}
