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

// id tells one object from another.
type id struct{ group, kind, namespace, name string }

// String is such as ConfigMap default/a.
func (i id) String() string { return simulate.Named(i.kind, i.namespace, i.name) }

var errNoObject = errors.New("an object needs apiVersion, kind and metadata.name")

// id returns which object is meant. It is in the namespace of the parent unless it says another one, or its kind has none.
func (w *world) id(o map[string]any) (id, error) {
	metadata, _ := o["metadata"].(map[string]any)
	apiVersion, _ := o["apiVersion"].(string)
	i := id{group: schema.FromAPIVersionAndKind(apiVersion, "").Group}
	i.kind, _ = o["kind"].(string)
	i.name, _ = metadata["name"].(string)
	if apiVersion == "" || i.kind == "" || i.name == "" {
		return i, errNoObject
	}
	i.namespace = w.simulator.Namespace(o, w.state.Parent)
	return i, nil
}

// find returns the object that is meant, or nil.
func (w *world) find(of id, all []map[string]any) map[string]any {
	for _, o := range all {
		if other, _ := w.id(o); other == of {
			return o
		}
	}
	return nil
}

// similar asks whether another object of the kind is meant, if there is one with a similar name.
func (w *world) similar(to id, all []map[string]any) string {
	byName := map[string]string{}
	for _, o := range all {
		if other, _ := w.id(o); other.kind == to.kind {
			byName[other.name] = other.String()
		}
	}
	return syntax.DidYouMean(byName[syntax.Nearest(to.name, slices.Sorted(maps.Keys(byName)))])
}

// saysWhose reports whether an object says by labels or owner references whose it is.
func saysWhose(o map[string]any) bool {
	metadata, _ := o["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	owners, _ := metadata["ownerReferences"].([]any)
	for _, label := range []string{v1.LabelChild, v1.LabelController, v1.LabelParentUID} {
		if labels[label] != nil {
			return true
		}
	}
	return len(owners) > 0
}
