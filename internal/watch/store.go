package watch

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/templater-dev/templater/internal/object"
)

// The methods in this file are for the Reflector that feeds the Cache.

// Add takes an object that the watch has brought.
func (c *Cache) Add(obj any) error { return c.Update(obj) }

// Update takes an object that the watch has brought.
func (c *Cache) Update(obj any) error {
	o, err := c.object(obj)
	if err != nil {
		return err
	}
	c.pulse.beat()
	c.mu.Lock()
	event, changed := c.take(o)
	c.seen = max(c.seen, o.Version())
	c.mu.Unlock()
	if changed {
		c.notify(event)
	}
	return nil
}

// Delete takes note that an object is gone, or no longer matches the Want.
func (c *Cache) Delete(obj any) error {
	o, err := c.object(obj)
	if err != nil {
		return err
	}
	c.pulse.beat()
	c.mu.Lock()
	name, version := o.Key(), o.Version()
	c.seen = max(c.seen, version)
	it := c.items[name]
	if it == nil || c.newer(it, o, version) {
		c.mu.Unlock()
		return nil
	}
	event := Event{Old: it.object}
	c.drop(name)
	c.mu.Unlock()
	c.notify(event)
	return nil
}

// Replace takes the result of a list. Own writes that are later than the list
// stay. There are no events for the first list: that the cache has synced says it all.
func (c *Cache) Replace(list []any, resourceVersion string) error {
	objects := make(map[types.NamespacedName]*object.Object, len(list))
	for _, obj := range list {
		o, err := c.object(obj)
		if err != nil {
			return err
		}
		objects[o.Key()] = o
	}
	version, _ := strconv.ParseUint(resourceVersion, 10, 64)
	c.pulse.beat()
	c.mu.Lock()
	var events []Event
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
	state := !c.synced || c.failure != nil
	if !c.synced {
		events = nil
	}
	c.synced, c.failure = true, nil
	c.mu.Unlock()
	for _, event := range events {
		c.notify(event)
	}
	if state {
		c.changed()
	}
	return nil
}

// Bookmark takes note of how far the watch has come.
func (c *Cache) Bookmark(resourceVersion string) error {
	c.pulse.beat()
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return nil // a server whose versions are no numbers: there is nothing to note
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = max(c.seen, version)
	return nil
}

// Resync does nothing: the reconciler looks again by its own clock.
func (c *Cache) Resync() error { return nil }

// Transformer returns what has a list slimmed while it comes in, which may take long.
func (c *Cache) Transformer() toolscache.TransformFunc {
	return func(obj any) (any, error) {
		c.pulse.beat()
		return c.object(obj)
	}
}

// take files an object from the watch, unless an own write is newer; the lock is held.
func (c *Cache) take(o *object.Object) (Event, bool) {
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

// newer reports whether the item is an own write of after the departure o; the
// lock is held. An own write that no selector can have dropped is back soon.
func (c *Cache) newer(it *item, o *object.Object, version uint64) bool {
	if it.writer == "" || it.object.Version() <= version {
		return false
	}
	if it.object.UID() != o.UID() {
		return true
	}
	return c.want.Fields == "" && c.selector.Matches(it.object)
}

// Fail takes note of the result of a list or watch request: nil when it went well.
func (c *Cache) Fail(err error) {
	c.mu.Lock()
	same := (err == nil) == (c.failure == nil) && (err == nil || err.Error() == c.failure.Error())
	if c.failure == nil && err != nil {
		c.fails++
	}
	c.failure = err
	c.mu.Unlock()
	if !same {
		c.changed()
	}
}

// object returns what is kept of an object that the Reflector brings.
func (c *Cache) object(obj any) (*object.Object, error) {
	o, ok := obj.(*object.Object)
	if !ok {
		return nil, fmt.Errorf("watch %s: unexpected object %T", c.want, obj)
	}
	if c.want.Role == Definition && !o.Noted(object.Slim) {
		return slimDefinition(o)
	}
	return o, nil
}
