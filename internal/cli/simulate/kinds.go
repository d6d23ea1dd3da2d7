package simulate

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
)

// kinds has the kinds of CustomResourceDefinitions, the built-in kinds, and guessed kinds.
type kinds struct {
	declared kind.Declared
	unserved map[schema.GroupVersionKind]bool // see Simulator.Unserved
}

// resolve resolves a kind. It does not guess if the kinds or versions are known.
func (k kinds) resolve(gvk schema.GroupVersionKind) (kind.Kind, error) {
	found, err := k.declared.Resolve(gvk)
	ofGroup := func(gk schema.GroupKind) bool { return gk.Group == gvk.Group } // built-in groups have no other kinds
	missing, _ := errors.AsType[*kind.NotFoundError](err)
	if missing != nil && missing.Served == "" && !slices.ContainsFunc(kind.BuiltIn(), ofGroup) && !k.unserved[gvk] {
		return guess(gvk), nil
	}
	return found, err
}

// find is resolve for existing objects, so the kind exists.
func (k kinds) find(gvk schema.GroupVersionKind) kind.Kind {
	found, err := k.resolve(gvk)
	if err != nil {
		return guess(gvk)
	}
	return found
}

// guess returns a custom kind with full support for status.
func guess(gvk schema.GroupVersionKind) kind.Kind {
	k := kind.Guess(gvk)
	k.Custom, k.Status = true, &kind.StatusSchema{ObservedGeneration: true}
	return k
}
