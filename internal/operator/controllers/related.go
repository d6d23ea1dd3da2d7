package controllers

import (
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/watch"
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
func (b *builder) relatedWants(all []spec.Related, as string) ([]relatedWant, *spec.Rejection) {
	var out []relatedWant
	for i := range all {
		r := &all[i]
		w := relatedWant{kind: kind.Kind{Kind: r.GVK.Kind}}
		found, err := b.kinds.Resolve(r.GVK)
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

// closeIndexes gives back what the selections of parents take.
func (e *tracked) closeIndexes() {
	for _, index := range e.indexes {
		index.Close()
	}
	e.indexes = nil
}

// relatedChanged queues the parents that see an object.
func (h *eventHandler) relatedChanged(want watch.Want, event watch.Event) {
	for _, name := range h.watches.Owners(want) {
		running := h.get(name)
		if running == nil {
			continue
		}
		for _, e := range running.Related {
			if e.Reads(want) {
				e.Changed(event, h.requeuer.waker(running.Name))
			}
		}
	}
}

// relatedNamespaceChanged queues the parents that see objects in a namespace which starts or stops matching.
func (h *eventHandler) relatedNamespaceChanged(running *running.Controller, want watch.Want, event watch.Event) {
	for _, e := range running.Related {
		if e.Namespaces != nil && e.Namespaces.Of(want) {
			e.NamespaceChanged(event, h.requeuer.waker(running.Name))
		}
	}
}
