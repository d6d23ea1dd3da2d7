package watch

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/object"
)

// labelIdle is how long a label index must be unused before another label can replace it.
const labelIdle = 10 * time.Minute

// Find calls f for the objects that match term, in no particular order. f must not call the cache. The index for the facet of a
// term is built on first use. If there are already maxLabels label indexes, Find looks up the term without its label, and
// filters the result; if the term has only a label, it then scans all objects.
func (c *objects) Find(term Term, f func(*object.Object)) {
	if c.want.Namespace != "" && c.want.Namespace == term.Namespace && term.Name == "" {
		term.Namespace = "" // all objects are in this namespace
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

// look calls f for the objects that match term, among those indexed under another term. It returns false if there is no index for
// the facet of that term.
func (c *objects) look(filed, term Term, f func(*object.Object)) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.related.index != nil && c.related.index.Each(filed, func(it *item) {
		if term.Matches(it.object) {
			f(it.object)
		}
	})
}

// file builds the index for a term if necessary. It returns the term to look up, which may be broader. The zero Term has no index
// and selects all objects.
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

// finder contains the index for Find. The lock of its objects protects it.
type finder struct {
	index  *ObjectIndex[*item] // nil before the first call of Find
	tidied time.Time           // last time that unused label indexes were dropped
}

// open builds the index for a facet if necessary. It returns false if there are too many label indexes.
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
