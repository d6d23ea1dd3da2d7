package controllers

import (
	"context"
	"maps"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// widenScope has children read in these namespaces, besides those that they may be in since before; no
// scope means in all. They are read in all as long as some may be in another namespace than their parent.
func (e *tracked) widenScope(scope []string) {
	if len(scope) == 0 {
		e.namespaces = nil
		return
	}
	if e.namespaces == nil && !e.mayNarrow() {
		return
	}
	next := map[string]bool{} // not the old map, which may be in use
	if e.namespaces == nil && e.current != nil {
		e.current.EachChild(func(_ running.Source, o *object.Object) { next[o.Namespace()] = true })
		e.current.EachSelected(func(o *object.Object) {
			if o.HasFinalizer(e.current.Finalizer) {
				next[o.Namespace()] = true
			}
		})
		delete(next, "")
	}
	maps.Copy(next, e.namespaces)
	for _, ns := range scope {
		next[ns] = true
	}
	e.namespaces = next
}

// mayNarrow reports whether children need not be read in all namespaces any more.
func (e *tracked) mayNarrow() bool {
	if e.current == nil {
		return !e.everywhere
	}
	return e.current.MayNarrow()
}

// retreat stops watching namespaces that the spec no longer includes, once no child is left there. It
// gives up if the service account is no longer allowed to read there.
func (f *finalizer) retreat(ctx context.Context, e *tracked, next *running.Controller) {
	left := e.namespaces == nil && spec.ChildNamespaces(next.Spec) != nil // see widenScope
	for ns := range e.namespaces {
		if !next.IsLeaving(ns) {
			continue
		}
		if !next.IsDrained(ctx, ns) || !f.noneHoldsIn(ctx, next, ns) {
			left = true
			continue
		}
		f.mu.Lock()
		e.namespaces = maps.Clone(e.namespaces)
		delete(e.namespaces, ns)
		f.mu.Unlock()
		f.queue.Add(next.Name) // to end the watches
	}
	if left {
		f.queue.AddAfter(next.Name, permissions.BelievedFor)
	}
}
