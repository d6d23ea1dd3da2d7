package watch

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/object"
)

// objects are the objects of a Cache with their indexes. They are safe for concurrent use.
type objects struct {
	want     Want
	selector labels.Selector

	mu      sync.RWMutex
	items   map[types.NamespacedName]*item
	index   index
	related finder
	seen    uint64 // the newest resource version that the watch has delivered
	gone    goneSeals
	defined map[schema.GroupKind]bool // kinds whose CustomResourceDefinition was seen; nil if there was none
}

// Get returns the object with that name, or nil.
func (c *objects) Get(name types.NamespacedName) *object.Object {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if it := c.items[name]; it != nil {
		return it.object
	}
	return nil
}

// Each calls f for each object, in no particular order, until f returns false. f must not call the cache.
func (c *objects) Each(f func(*object.Object) bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, it := range c.items {
		if !f(it.object) {
			return
		}
	}
}

// Len returns the number of objects.
func (c *objects) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.items)
}

// put is Cache.Put.
func (c *objects) put(o *object.Object, writer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := o.Version()
	if version <= c.seen { // the watch has delivered this version or a newer one
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

// Deleting records that the server has accepted the deletion of an object. The object has a deletionTimestamp until the watch
// reports that it is deleted.
func (c *objects) Deleting(name types.NamespacedName, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if it := c.items[name]; it != nil && it.object.UID() == uid {
		it.deleting, it.object = true, terminating(it.object)
	}
}

// set stores an object. The lock must be held.
func (c *objects) set(o *object.Object, writer string) {
	it := c.items[o.Key()]
	if it == nil {
		c.gone.judge(o)
		it = &item{object: o, writer: writer}
		c.index.add(it)
		if c.related.index != nil {
			c.related.index.Add(o, it)
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
	if c.related.index != nil {
		c.related.index.Replace(it.object, o, it)
	}
	c.index.replace(it, o)
	it.writer = writer
}

// drop removes an object. The lock must be held.
func (c *objects) drop(name types.NamespacedName) {
	if it := c.items[name]; it != nil {
		c.gone.note(it.object)
		c.index.remove(it)
		if c.related.index != nil {
			c.related.index.Remove(it.object, it)
		}
		delete(c.items, name)
	}
}

// terminating returns o with a deletionTimestamp, without modifying o.
func terminating(o *object.Object) *object.Object {
	return o.Terminating(time.Now().UTC().Format(time.RFC3339))
}

// update stores an object that the watch has delivered. It returns the event, unless the state was already known.
func (c *objects) update(o *object.Object) (Event, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	event, changed := c.take(o)
	c.seen = max(c.seen, o.Version())
	return event, changed
}

// remove returns the removed object, or nil.
func (c *objects) remove(o *object.Object) *object.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	name, version := o.Key(), o.Version()
	c.seen = max(c.seen, version)
	it := c.items[name]
	switch {
	case it == nil:
		return nil
	case c.newer(it, o, version) && it.object.UID() != o.UID():
		return o // another object with the same name has replaced it in the cache, without an event for its deletion
	case c.newer(it, o, version):
		return nil
	}
	c.drop(name)
	return it.object
}

// replace stores the result of a list, and returns the changes.
func (c *objects) replace(objects map[types.NamespacedName]*object.Object, version uint64) (events []Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, it := range c.items {
		if objects[name] == nil && (it.writer == "" || it.object.Version() <= version) {
			events = append(events, Event{Old: it.object})
			c.drop(name)
		}
	}
	for _, o := range objects {
		if event, changed := c.take(o); changed {
			events = append(events, event)
		}
	}
	c.seen = version
	return events
}

// passed records the resource version of the watch.
func (c *objects) passed(version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = max(c.seen, version)
}

// take stores an object from the watch, unless the cache has a newer write of this process. The lock must be held.
func (c *objects) take(o *object.Object) (Event, bool) {
	version := o.Version()
	event := Event{New: o}
	if old := c.items[o.Key()]; old != nil {
		known := old.object.Version()
		if old.writer != "" && known > version {
			return Event{}, false
		}
		event.Old = old.object
		if version != 0 && known == version {
			event.Writer, old.writer = old.writer, ""
			return event, event.Writer != ""
		}
	}
	c.set(o, "")
	return event, true
}

// newer reports whether the item is a write of this process that is newer than o, the object of a deletion event, so that it must
// be kept. The lock must be held. Without a field selector, the watch will deliver that write soon.
func (c *objects) newer(it *item, o *object.Object, version uint64) bool {
	if it.writer == "" || it.object.Version() <= version {
		return false
	}
	if it.object.UID() != o.UID() {
		return true
	}
	return c.want.Fields == "" // Put has only checked the labels
}

// noteDefined records that a kind has a CustomResourceDefinition.
func (c *objects) noteDefined(kind schema.GroupKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.defined == nil {
		c.defined = map[schema.GroupKind]bool{}
	}
	c.defined[kind] = true
}
