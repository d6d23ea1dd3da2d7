package simulate

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
)

// kinds are those of definitions, those built in, and those that are guessed.
type kinds struct {
	declared kind.Declared
	unserved map[schema.GroupVersionKind]bool // see Simulator.Unserved
}

// resolve finds a kind. Nothing is guessed where it is known which kinds or versions there are.
func (k kinds) resolve(gvk schema.GroupVersionKind) (kind.Kind, error) {
	found, err := k.declared.Resolve(gvk)
	ofGroup := func(gk schema.GroupKind) bool { return gk.Group == gvk.Group } // one that Kubernetes has holds no other kinds
	missing, _ := errors.AsType[*kind.NotFoundError](err)
	if missing != nil && missing.Served == "" && !slices.ContainsFunc(kind.BuiltIn(), ofGroup) && !k.unserved[gvk] {
		return guess(gvk), nil
	}
	return found, err
}

// find is resolve for what is there, so that there is such a kind.
func (k kinds) find(gvk schema.GroupVersionKind) kind.Kind {
	found, err := k.resolve(gvk)
	if err != nil {
		return guess(gvk)
	}
	return found
}

// guess takes a kind for a custom one with all that templater can use of its status.
func guess(gvk schema.GroupVersionKind) kind.Kind {
	k := kind.Guess(gvk)
	k.Custom, k.Status = true, &kind.StatusSchema{ObservedGeneration: true}
	return k
}
