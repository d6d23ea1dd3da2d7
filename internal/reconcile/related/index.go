package related

import (
	"crypto/sha256"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
)

// Memory limits the memory for the selections of each tenant. It is safe for concurrent use.
type Memory struct {
	most int // bytes per tenant

	mu    sync.Mutex
	taken map[string]int // bytes by tenant; no entry is 0
}

// NewMemory returns a Memory with that limit in bytes per tenant.
func NewMemory(most int) *Memory { return &Memory{most: most, taken: map[string]int{}} }

// take reserves bytes for a tenant, or releases them if negative. It returns false if that exceeds the limit.
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

// Index stores what each parent of a TemplateController selects with one entry, and finds the parents that select an
// object. It is safe for concurrent use.
type Index struct {
	rooms  *Memory // nil = unlimited
	tenant string

	mu      sync.RWMutex
	closed  bool // memory is no longer counted
	size    int  // bytes of all selections
	parents map[types.NamespacedName]*member
	terms   watch.TermIndex[*member]
}

// member is a parent and its selection.
type member struct {
	parent    types.NamespacedName
	source    digest // of the input of selection
	selection Selection
	filed     []filed
}

// filed is a term under which a parent is filed: the term of a part of its selection.
type filed struct {
	part      uint16
	unlabeled bool // the term was added without its label, because there are too many label values
}

// digest is the hash of a text, which may be large.
type digest = [sha256.Size]byte

// NewIndex returns an empty Index that counts against the tenant's memory. A nil Memory is unlimited.
func NewIndex(rooms *Memory, tenant string) *Index {
	return &Index{rooms: rooms, tenant: tenant, parents: map[types.NamespacedName]*member{}}
}

// Close releases the memory of the Index, which only running reconciliations still use.
func (x *Index) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.resize(-x.size)
	x.closed = true
}

// resize changes the memory in use by that many bytes. It returns false if that exceeds the limit. The caller holds the
// lock.
func (x *Index) resize(by int) bool {
	if x.rooms != nil && !x.closed && !x.rooms.take(x.tenant, by) {
		return false
	}
	x.size += by
	return true
}

// Known returns the selection of a parent if it was made from the same source, or else false.
func (x *Index) Known(parent types.NamespacedName, source digest) (Selection, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	m := x.parents[parent]
	if m == nil || m.source != source {
		return nil, false
	}
	return m.selection, true
}

// Set stores the selection of a parent, which was made from source. Call it before the parent reads its objects, so
// that no change is missed. If the tenant has no memory left, Set returns false and changes nothing.
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

// sizeOf returns the size of a parent's selection in bytes. The caller holds the lock.
func (x *Index) sizeOf(parent types.NamespacedName) int {
	if m := x.parents[parent]; m != nil {
		return m.selection.Size()
	}
	return 0
}

// Forget drops a deleted parent.
func (x *Index) Forget(parent types.NamespacedName) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.resize(-x.sizeOf(parent))
	x.drop(parent)
}

// drop removes a parent. The caller holds the lock.
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

// each calls f for the parents that may select the old or the new object: at most twice for a parent that is filed
// under one term, once for a parent with several. before is nil for a new object, after for a deleted one. f must not
// call the Index.
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
