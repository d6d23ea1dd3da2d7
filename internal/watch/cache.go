package watch

import (
	"maps"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
)

// Event is a change in a Cache. Old is nil for a new object, New is nil for one
// that is gone. Writer is who wrote New, where it is an own write that has come
// back (see Cache.Put), else empty.
type Event struct {
	Old, New *unstructured.Unstructured
	Writer   string
}

// Cache is a copy of the objects that one Want names. A client-go Reflector
// feeds it; readers get the objects themselves, and must not change them.
//
// Own writes are merged by resource version, which Kubernetes declares
// comparable within a resource (KEP-5504): a watch brings changes in the order
// of their versions, so a write with a version that the watch has passed is
// known already, and a later one will come.
//
// A Cache is safe for concurrent use. Events are reported in order, one at a
// time, after the Cache holds the change.
type Cache struct {
	want     Want
	selector labels.Selector
	notify   func(Event)
	changed  func() // synced or failure changed

	mu      sync.RWMutex
	items   map[types.NamespacedName]*item
	index   index
	seen    uint64 // the newest resource version that the watch has brought
	synced  bool
	failure error
}

type item struct {
	object   *unstructured.Unstructured
	version  uint64 // 0 where the server's versions are no numbers
	writer   string // who wrote it, until the watch brings it
	deleting bool   // we have asked for its deletion
}

var (
	_ toolscache.ReflectorStore         = (*Cache)(nil)
	_ toolscache.ReflectorBookmarkStore = (*Cache)(nil)
	_ toolscache.TransformingStore      = (*Cache)(nil)
)

// NewCache returns an empty cache for want. It calls notify for each change of an
// object and changed when Synced or Err answer differently; both must be
// quick and must not call the cache's writing methods.
func NewCache(want Want, notify func(Event), changed func()) (*Cache, error) {
	selector, err := labels.Parse(want.Labels)
	if err != nil {
		return nil, err
	}
	return &Cache{
		want: want, selector: selector, notify: notify, changed: changed,
		items: map[types.NamespacedName]*item{}, index: newIndex(want.Role),
	}, nil
}

// Get returns the object of that name, or nil.
func (c *Cache) Get(name types.NamespacedName) *unstructured.Unstructured {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if it := c.items[name]; it != nil {
		return it.object
	}
	return nil
}

// Select returns the objects that the index files under value, in no order.
// The values are those of ParentIndex, NameIndex or KindIndex, as Role says.
func (c *Cache) Select(value string) []*unstructured.Unstructured {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []*unstructured.Unstructured
	for name := range c.index.names(value) {
		out = append(out, c.items[name].object)
	}
	return out
}

// Each calls f for every object, in no order, until f returns false. f must
// not call the cache.
func (c *Cache) Each(f func(*unstructured.Unstructured) bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, it := range c.items {
		if !f(it.object) {
			return
		}
	}
}

// Len returns the number of objects.
func (c *Cache) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.items)
}

// Synced reports whether the cache has once held everything.
func (c *Cache) Synced() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.synced
}

// Err returns why the last list or watch failed, or nil when it did not.
func (c *Cache) Err() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.failure
}

// Put takes an object as the server returned it to a write of ours. writer is
// told in the Event when the watch brings the same state.
func (c *Cache) Put(o *unstructured.Unstructured, writer string) {
	o = slim(c.want.Role, o)
	c.mu.Lock()
	defer c.mu.Unlock()
	name, version := nameOf(o), versionOf(o)
	if version <= c.seen {
		return // the watch has brought this or what came after it
	}
	if old := c.items[name]; old != nil && old.version >= version {
		return
	}
	if !c.selector.Matches(labels.Set(o.GetLabels())) {
		c.drop(name)
		return
	}
	c.set(name, &item{object: o, version: version, writer: writer})
}

// Deleting takes note that the server has accepted to delete an object. Until
// the watch says that it is gone, the object has a deletionTimestamp.
func (c *Cache) Deleting(name types.NamespacedName, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if it := c.items[name]; it != nil && it.object.GetUID() == uid {
		it.deleting = true
		it.object = terminating(it.object)
	}
}

// set files the item; the lock is held.
func (c *Cache) set(name types.NamespacedName, it *item) {
	if old := c.items[name]; old != nil {
		c.index.remove(name, old.object)
		if old.deleting && old.object.GetUID() == it.object.GetUID() {
			it.deleting, it.object = true, terminating(it.object)
		}
	}
	c.items[name] = it
	c.index.add(name, it.object)
}

// drop forgets the item; the lock is held.
func (c *Cache) drop(name types.NamespacedName) {
	if old := c.items[name]; old != nil {
		c.index.remove(name, old.object)
		delete(c.items, name)
	}
}

// terminating returns o with a deletionTimestamp, and leaves o as it is.
func terminating(o *unstructured.Unstructured) *unstructured.Unstructured {
	if o.GetDeletionTimestamp() != nil {
		return o
	}
	metadata, _ := o.Object["metadata"].(map[string]any)
	marked := maps.Clone(metadata)
	marked["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	content := maps.Clone(o.Object)
	content["metadata"] = marked
	return &unstructured.Unstructured{Object: content}
}

func nameOf(o *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// versionOf returns the object's resource version, or 0 where it is no number
// (an aggregated API server may have versions of its own kind).
func versionOf(o *unstructured.Unstructured) uint64 {
	v, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}
