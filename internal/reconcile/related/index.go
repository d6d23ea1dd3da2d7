package related

import (
	"crypto/sha256"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
)

// Memory limit the memory for the selections of each tenant. It is safe for concurrent use.
type Memory struct {
	most int // bytes for one tenant

	mu    sync.Mutex
	taken map[string]int // by tenant; none is 0
}

// NewMemory returns Memory of that many bytes per tenant.
func NewMemory(most int) *Memory { return &Memory{most: most, taken: map[string]int{}} }

// take reserves bytes for a tenant, or releases them if negative, and reports whether they fit.
func (r *Memory) take(tenant string, bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.taken[tenant] + bytes
	if bytes > 0 && now > r.most {
		return false
	}
	if now == 0 {
		delete(r.taken, tenant)
	} else {
		r.taken[tenant] = now
	}
	return true
}

// Index remembers what each parent of a TemplateController selects by one entry, and so finds the parents that see an object. It
// is safe for concurrent use.
type Index struct {
	rooms  *Memory // nil = not shared
	tenant string

	mu      sync.RWMutex
	closed  bool // nothing is counted any more
	size    int  // of all selections
	parents map[types.NamespacedName]*member
	terms   watch.TermIndex[*member]
}

// member is a parent, and what it selects.
type member struct {
	parent    types.NamespacedName
	source    digest // of what the selection was made of
	selection Selection
	filed     []filed
}

// filed is a term that a parent is filed under: that of one of the parts of its selection.
type filed struct {
	part      uint16
	unlabeled bool // whether there was no room for the label
}

// digest stands for a text, which may be large.
type digest = [sha256.Size]byte

// NewIndex returns an Index of no parents, which shares the room of a tenant. Nil rooms are without a bound.
func NewIndex(rooms *Memory, tenant string) *Index {
	return &Index{rooms: rooms, tenant: tenant, parents: map[types.NamespacedName]*member{}}
}

// Close releases the share of the memory that the Index takes, because only reconciliations in progress still use it.
func (x *Index) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.resize(-x.size)
	x.closed = true
}

// resize has the selections take so many bytes more, or less, and reports whether there is room; the lock is held.
func (x *Index) resize(by int) bool {
	if x.rooms != nil && !x.closed && !x.rooms.take(x.tenant, by) {
		return false
	}
	x.size += by
	return true
}

// Known returns what a parent selects, where that was made of the same source, and else false.
func (x *Index) Known(parent types.NamespacedName, source digest) (Selection, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	m := x.parents[parent]
	if m == nil || m.source != source {
		return nil, false
	}
	return m.selection, true
}

// Set notes what a parent selects from now on, which was made of that source. It must come before the parent reads what it selects, so
// that no change is missed. It reports false where the tenant has no room for it; then all is as it was.
func (x *Index) Set(parent types.NamespacedName, source digest, s Selection) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.resize(s.Size() - x.sizeOf(parent)) {
		return false
	}
	x.drop(parent)
	m := &member{parent: parent, source: source, selection: s}
	known := make(map[watch.Term]struct{}, len(s))
	for i, p := range s {
		wanted := p.Term()
		if _, again := known[wanted]; again {
			continue
		}
		known[wanted] = struct{}{}
		m.filed = append(m.filed, filed{part: uint16(i), unlabeled: x.terms.Add(wanted, m) != wanted}) //nolint:gosec // there are few parts
	}
	m.filed = slices.Clip(m.filed)
	x.parents[parent] = m
	return true
}

// sizeOf returns how many bytes the selection of a parent takes; the lock is held.
func (x *Index) sizeOf(parent types.NamespacedName) int {
	if m := x.parents[parent]; m != nil {
		return m.selection.Size()
	}
	return 0
}

// Forget drops a parent that was deleted.
func (x *Index) Forget(parent types.NamespacedName) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.resize(-x.sizeOf(parent))
	x.drop(parent)
}

// drop takes a parent out; the lock is held.
func (x *Index) drop(parent types.NamespacedName) {
	m := x.parents[parent]
	if m == nil {
		return
	}
	for _, f := range m.filed {
		t := m.selection[f.part].Term()
		if f.unlabeled {
			t.Label, t.Value = "", ""
		}
		x.terms.Remove(t, m)
	}
	delete(x.parents, parent)
}

// each calls f for the parents that may see one of two states of an object: at most twice for one that is filed under one term, and
// once for one that is filed under many. before is nil for a new object, after for a deleted one. f must not call the Index.
func (x *Index) each(before, after *object.Object, f func(*member)) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var seen map[*member]struct{}
	once := func(m *member) {
		if len(m.filed) > 1 {
			if _, again := seen[m]; again {
				return
			}
			if seen == nil {
				seen = map[*member]struct{}{}
			}
			seen[m] = struct{}{}
		}
		f(m)
	}
	if before != nil {
		x.terms.Each(before, once)
	}
	if after != nil {
		x.terms.Each(after, once)
	}
}
