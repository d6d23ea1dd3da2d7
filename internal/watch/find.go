package watch

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/watch/lookup"
)

// Find calls f for the objects that a term names, in no order. f must not call the cache. It looks at no other objects but for the
// first time that it is asked for such a term, and where a term has a label though the cache is asked for by
// lookup.MostLabels others.
func (c *Cache) Find(term lookup.Term, f func(*object.Object)) {
	if c.want.Namespace != "" && c.want.Namespace == term.Namespace && term.Name == "" {
		term.Namespace = "" // as all are
	}
	if term.Namespace != "" && term.Name != "" {
		if o := c.Get(types.NamespacedName{Namespace: term.Namespace, Name: term.Name}); o != nil && term.Matches(o) {
			f(o)
		}
		return
	}
	filed := c.file(term)
	c.mu.RLock()
	defer c.mu.RUnlock()
	if filed == (lookup.Term{}) {
		for _, it := range c.items {
			if term.Matches(it.object) {
				f(it.object)
			}
		}
		return
	}
	c.related.Each(filed, func(it *item) {
		if term.Matches(it.object) {
			f(it.object)
		}
	})
}

// file sees to it that objects are filed so that a term can be looked up, and returns the term to look up, which names at least the same.
func (c *Cache) file(term lookup.Term) lookup.Term {
	if c.filed(term.Facet()) {
		return term
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.related == nil {
		c.related = &lookup.Objects[*item]{}
	}
	if c.open(term.Facet()) {
		return term
	}
	term.Label, term.Value = "", ""
	c.open(term.Facet())
	return term
}

// filed reports whether nothing needs to be done to look up terms of a facet.
func (c *Cache) filed(f lookup.Facet) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return f == lookup.Facet{} || c.related != nil && c.related.Has(f)
}

// open files the objects by a facet, if there is room for that; the lock is held.
func (c *Cache) open(f lookup.Facet) bool {
	switch {
	case f == lookup.Facet{} || c.related.Has(f):
		return true
	case !c.related.Open(f):
		return false
	}
	for _, it := range c.items {
		c.related.File(f, it.object, it)
	}
	return true
}
