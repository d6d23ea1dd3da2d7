package watch

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/object"
)

// labelIdle is for how long nobody may have asked for a label before it makes room for another one.
const labelIdle = 10 * time.Minute

// Find calls f for the objects that a term names, in no order. f must not call the cache. It looks at no other objects but for the
// first time that it is asked for such a term, and where a term has a label though the cache is asked for by
// mostLabels others.
func (c *objects) Find(term Term, f func(*object.Object)) {
	if c.want.Namespace != "" && c.want.Namespace == term.Namespace && term.Name == "" {
		term.Namespace = "" // as all are
	}
	if term.Namespace != "" && term.Name != "" {
		if o := c.Get(types.NamespacedName{Namespace: term.Namespace, Name: term.Name}); o != nil && term.Matches(o) {
			f(o)
		}
		return
	}
	if term != (Term{}) && (c.look(term, term, f) || c.look(c.file(term), term, f)) {
		return
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, it := range c.items {
		if term.Matches(it.object) {
			f(it.object)
		}
	}
}

// look calls f for what a term names of the objects that are filed under another one, or reports that none are filed by such a term.
func (c *objects) look(filed, term Term, f func(*object.Object)) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.related.index != nil && c.related.index.Each(filed, func(it *item) {
		if term.Matches(it.object) {
			f(it.object)
		}
	})
}

// file sees to it that objects are filed so that a term can be looked up, and returns the term to look up, which names at least the same.
// The zero Term names all, and nothing is filed under it.
func (c *objects) file(term Term) Term {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.related.index == nil {
		c.related.index = &ObjectIndex[*item]{}
	}
	if c.related.open(term.Facet(), c.items) {
		return term
	}
	term.Label, term.Value = "", ""
	c.related.open(term.Facet(), c.items)
	return term
}

// finder has the index of objects by the terms that Find was called with. It is guarded by its objects.
type finder struct {
	index  *ObjectIndex[*item] // nil until somebody calls Find
	tidied time.Time           // when idle labels were closed
}

// open files the items by a facet, if there is room for that.
func (x *finder) open(f Facet, items map[types.NamespacedName]*item) bool {
	if f == (Facet{}) || x.index.Has(f) {
		return true
	}
	if now := time.Now(); f.Label != "" && now.Sub(x.tidied) >= labelIdle {
		x.index.CloseIdle()
		x.tidied = now
	}
	if !x.index.Open(f) {
		return false
	}
	for _, it := range items {
		x.index.File(f, it.object, it)
	}
	return true
}
