package snapshot

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Related has the objects that the entries of spec.related watch. It is safe for concurrent use.
type Related struct {
	entries map[string]*entry
	// Missing are entries with kinds that the cluster does not have.
	Missing []string
}

// entry has the objects of one entry, indexed by the selections.
type entry struct {
	objects []*object.Object

	mu    sync.RWMutex
	filed watch.ObjectIndex[*object.Object]
}

// Related reads the objects of all entries.
func (s *Source) Related(ctx context.Context, compiled *spec.Compiled) (*Related, error) {
	out := &Related{entries: map[string]*entry{}}
	for i := range compiled.Related {
		r := &compiled.Related[i]
		where, err := s.Resource(r.GVK)
		if err != nil {
			return nil, err
		}
		if where == nil {
			out.Missing = append(out.Missing, r.Name)
			continue
		}
		objects, err := s.listIn(ctx, where.Resource, r.Namespaces, metav1.ListOptions{LabelSelector: r.Labels, FieldSelector: r.Fields})
		if err == nil {
			objects, err = s.inNamespaces(ctx, objects, r.NamespaceSelector)
		}
		if err != nil {
			return nil, failed(err, "list %s for %s", where.Resource.GroupResource(), syntax.RelatedName(r.Name))
		}
		out.entries[r.Name] = &entry{objects: objects}
	}
	return out, nil
}

// Read returns the objects of an entry that a parent selects, for simulate.State.
func (r *Related) Read(name string, chosen related.Selection) []*object.Object {
	e := r.entries[name]
	if e == nil {
		return nil
	}
	var out []*object.Object
	seen := map[*object.Object]bool{}
	for _, part := range chosen {
		e.each(part.Term(), func(o *object.Object) {
			if !seen[o] && part.Selects(o) {
				seen[o] = true
				out = append(out, o)
			}
		})
	}
	return out
}

// each calls f for objects that can match the term.
func (e *entry) each(t watch.Term, f func(*object.Object)) {
	if !e.open(t.Facet()) {
		for _, o := range e.objects {
			f(o)
		}
		return
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	e.filed.Each(t, f)
}

// open indexes the objects by a facet, and reports whether that succeeded.
func (e *entry) open(facet watch.Facet) bool {
	e.mu.RLock()
	has := e.filed.Has(facet)
	e.mu.RUnlock()
	if has {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.filed.Has(facet) {
		return true
	}
	if !e.filed.Open(facet) {
		return false
	}
	for _, o := range e.objects {
		e.filed.File(facet, o, o)
	}
	return true
}
