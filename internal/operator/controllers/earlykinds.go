package controllers

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// namedKinds returns the kinds of children that the templates of a spec name, each in the version that is named first. It
// calls pause between templates, and returns its error.
func namedKinds(pause func() error, s *v1.TemplateControllerSpec, c *spec.Compiled) (kinds []schema.GroupVersionKind, err error) {
	for i := range s.Children {
		yields, _ := outline.Yields(c.Program, s.Children[i].Name)
		for _, y := range yields {
			gvk := schema.FromAPIVersionAndKind(y.APIVersion, y.Kind)
			if !slices.ContainsFunc(kinds, func(k schema.GroupVersionKind) bool { return k.GroupKind() == gvk.GroupKind() }) {
				kinds = append(kinds, gvk)
			}
		}
		if pause != nil {
			if err := pause(); err != nil {
				return nil, err
			}
		}
	}
	return kinds, nil
}

// earlyKinds returns the kinds of children whose watches start before a parent needs them: all that templates name, as
// long as there are no parents. Afterwards, only the kinds that the templates rendered are watched. A missing
// permission for an early watch is not reported, because it may never be needed. The caller holds the lock.
func (e *tracked) earlyKinds(tc *v1.TemplateController) (kinds []schema.GroupVersionKind) {
	if len(e.counts.ByParent) > 0 || tc.Status.Parents.Total > 0 || tc.Spec.Suspend {
		return nil
	}
	for _, gvk := range e.named {
		if _, known := e.childKinds[gvk.GroupKind()]; !known {
			kinds = append(kinds, gvk)
		}
	}
	return kinds
}
