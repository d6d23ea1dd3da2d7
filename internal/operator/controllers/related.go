package controllers

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// relatedWant is what is to be watched for an entry of spec.related.
type relatedWant struct {
	kind       kind.Kind
	wants      map[string]watch.Want // by namespace; "" = all; empty while the server does not have the kind
	namespaces *watch.Want           // all Namespaces, for namespaceSelector; else nil
	err        error                 // why there are no wants
}

// relatedWants is what is to be watched for spec.related, in its order. A rejection says which entry cannot be.
func (c *Controllers) relatedWants(all []spec.Related, as string) ([]relatedWant, *spec.Rejection) {
	var out []relatedWant
	for i := range all {
		r := &all[i]
		w := relatedWant{kind: kind.Kind{Kind: r.GVK.Kind}}
		found, err := c.kinds.Resolve(r.GVK)
		if err != nil {
			w.err = err
			out = append(out, w)
			continue
		}
		if rejection := r.CheckKind(found); rejection != nil {
			return nil, rejection
		}
		w.kind, w.wants = found, map[string]watch.Want{}
		want := watch.Want{Resource: found.Resource, Labels: r.Labels, Fields: r.Fields, Role: watch.Related, As: as}
		for _, want.Namespace = range r.Namespaces {
			w.wants[want.Namespace] = want
		}
		if len(r.Namespaces) == 0 {
			w.wants[""] = want
		}
		if r.NamespaceSelector != nil {
			w.namespaces = &watch.Want{Resource: running.Namespaces, Role: watch.Namespace, As: as}
		}
		out = append(out, w)
	}
	return out, nil
}

// appendTo appends all wants.
func (w relatedWant) appendTo(out []watch.Want) []watch.Want {
	for _, want := range w.wants {
		out = append(out, want)
	}
	if w.namespaces != nil {
		out = append(out, *w.namespaces)
	}
	return out
}

// entry is the running form.
func (w relatedWant) entry(r *spec.Related, index *related.Index, caches map[watch.Want]*watch.Cache) *related.Entry {
	e := &related.Entry{Related: r, Kind: w.kind, Err: w.err, Index: index, Caches: make(map[string]*watch.Cache, len(w.wants))}
	for ns, want := range w.wants {
		e.Caches[ns] = caches[want]
	}
	if w.namespaces != nil {
		e.Namespaces = caches[*w.namespaces]
	}
	return e
}

// selectionShare is the part of GOMEMLIMIT that the selections of one tenant may take, one in so many.
const selectionShare = 16

// renewIndexes makes an empty index for each entry of spec.related; the lock is held.
func (c *Controllers) renewIndexes(name string, e *tracked) {
	e.closeIndexes()
	if e.compiled == nil {
		return
	}
	for range e.compiled.Related {
		e.indexes = append(e.indexes, related.NewIndex(c.selections, c.tenants.Name(name)))
	}
}

// closeIndexes gives back what the selections of parents take.
func (e *tracked) closeIndexes() {
	for _, index := range e.indexes {
		index.Close()
	}
	e.indexes = nil
}

// relatedChanged has the parents looked at that see an object.
func (c *Controllers) relatedChanged(want watch.Want, event watch.Event) {
	for _, name := range c.watches.Owners(want) {
		running := c.get(name)
		if running == nil {
			continue
		}
		for _, e := range running.Related {
			if e.Reads(want) {
				e.Changed(event, c.waker(running.Name))
			}
		}
	}
}

// relatedNamespaceChanged has the parents looked at that see objects in a namespace which is selected since now, or no more.
func (c *Controllers) relatedNamespaceChanged(running *running.Controller, want watch.Want, event watch.Event) {
	for _, e := range running.Related {
		if e.Namespaces != nil && e.Namespaces.Of(want) {
			e.NamespaceChanged(event, c.waker(running.Name))
		}
	}
}

// waker has parents of a controller looked at.
func (c *Controllers) waker(controller string) func(parent types.NamespacedName) {
	return func(parent types.NamespacedName) { c.parents.Add(queue.Key{Controller: controller, Parent: parent}) }
}
