package watch

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
)

// Event is a change in a Cache. Old is nil for a new object, New is nil for a
// deleted one. Writer is the writer of New if the event is about an own write
// (see Cache.Put), else empty.
type Event struct {
	Old, New *object.Object
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
// time, after the Cache holds the change; what the first list brings is none.
type Cache struct {
	want     Want
	selector labels.Selector
	trim     func(o, kept *object.Object) (*object.Object, error) // see TrimBy; nil = all is kept
	notify   func(Event)
	changed  func() // synced or failure changed
	liveness liveness

	mu      sync.RWMutex
	items   map[types.NamespacedName]*item
	index   index
	related *ObjectIndex[*item] // nil until somebody calls Find
	tidied  time.Time           // when idle labels of these were closed
	seen    uint64              // the newest resource version that the watch has brought
	synced  bool
	gone    goneSeals
	currentness
	defined map[schema.GroupKind]bool // that a definition has been brought of; nil without one
}

// item is what the cache holds of one object, for as long as there is an object of
// that name.
type item struct {
	object   *object.Object
	writer   string // who wrote it, until the watch brings it
	deleting bool   // we have asked for its deletion
	links    [indexes]link
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
	c := &Cache{
		want: want, selector: selector, notify: notify, changed: changed,
		items: map[types.NamespacedName]*item{}, index: newIndex(want.Role),
	}
	if want.Role == Definition {
		c.trim = func(o, _ *object.Object) (*object.Object, error) { return kind.Trim(o) }
	}
	c.liveness.begin(time.Now)
	return c, nil
}

// TrimBy has the cache keep of each object what trim returns, which notes that as object.Trimmed. kept is what the cache has of that name, nil =
// nothing. It comes before all else.
func (c *Cache) TrimBy(trim func(o, kept *object.Object) (*object.Object, error)) { c.trim = trim }

// Of reports whether the cache is a copy of what that Want names.
func (c *Cache) Of(want Want) bool { return c.want == want }

// Get returns the object of that name, or nil.
func (c *Cache) Get(name types.NamespacedName) *object.Object {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if it := c.items[name]; it != nil {
		return it.object
	}
	return nil
}

// Each calls f for every object, in no order, until f returns false. f must
// not call the cache.
func (c *Cache) Each(f func(*object.Object) bool) {
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

// Put stores an object as the server returned it for a write of ours. writer is
// set in the Event when the watch delivers the same state.
func (c *Cache) Put(o *object.Object, writer string) {
	o, err := c.trimmed(o)
	if err != nil {
		return // the watch brings it
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	version := o.Version()
	if version <= c.seen { // the watch has brought this or what came after it
		switch it := c.items[o.Key()]; {
		case it == nil || it.object.Version() < version:
		case it.object.Version() == version:
			it.object.Written(o)
		default:
			it.object.Follow(o)
		}
		return
	}
	if old := c.items[o.Key()]; old != nil && old.object.Version() >= version {
		return
	}
	if !c.selector.Matches(o) {
		c.drop(o.Key())
		return
	}
	c.set(o, writer)
}

// Deleting records that the server has accepted to delete an object. Until
// the watch reports its deletion, the object has a deletionTimestamp.
func (c *Cache) Deleting(name types.NamespacedName, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if it := c.items[name]; it != nil && it.object.UID() == uid {
		it.deleting, it.object = true, terminating(it.object)
	}
}

// set files an object; the lock is held.
func (c *Cache) set(o *object.Object, writer string) {
	it := c.items[o.Key()]
	if it == nil {
		c.gone.judge(o)
		it = &item{object: o, writer: writer}
		c.index.add(it)
		if c.related != nil {
			c.related.Add(o, it)
		}
		c.items[o.Key()] = it
		return
	}
	if it.deleting = it.deleting && it.object.UID() == o.UID(); it.deleting {
		o = terminating(o)
	}
	if o.Follow(it.object); o.Noted(object.Restored) {
		c.gone.note(it.object)
	}
	if c.related != nil {
		c.related.Replace(it.object, o, it)
	}
	c.index.replace(it, o)
	it.writer = writer
}

// drop forgets an object; the lock is held.
func (c *Cache) drop(name types.NamespacedName) {
	if it := c.items[name]; it != nil {
		c.gone.note(it.object)
		c.index.remove(it)
		if c.related != nil {
			c.related.Remove(it.object, it)
		}
		delete(c.items, name)
	}
}

// terminating returns o with a deletionTimestamp, and leaves o as it is.
func terminating(o *object.Object) *object.Object {
	return o.Terminating(time.Now().UTC().Format(time.RFC3339))
}
