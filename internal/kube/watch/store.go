package watch

import (
	"fmt"
	"runtime/debug"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
)

// The methods in this file are for the Reflector that feeds the Cache.

// Add takes an object that the watch has brought.
func (c *Cache) Add(obj any) error { return c.Update(obj) }

// Update takes an object that the watch has brought.
func (c *Cache) Update(obj any) (err error) {
	defer c.recovered(&err)
	o, err := c.object(obj)
	if err != nil {
		return err
	}
	c.liveness.progressed()
	if event, changed := c.update(o); changed {
		c.notify(event)
	}
	return nil
}

// Delete records that an object was deleted, or no longer matches the Want.
func (c *Cache) Delete(obj any) (err error) {
	defer c.recovered(&err)
	o, err := c.object(obj)
	if err != nil {
		return err
	}
	c.liveness.progressed()
	if old := c.remove(o); old != nil {
		c.notify(Event{Old: old})
	}
	return nil
}

// Replace takes the result of a list. Own writes that are later than the list
// stay. There are no events for the first list: that the cache has synced says it all.
func (c *Cache) Replace(list []any, resourceVersion string) (err error) {
	defer c.recovered(&err)
	objects := make(map[types.NamespacedName]*object.Object, len(list))
	for _, obj := range list {
		o, err := c.object(obj)
		if err != nil {
			return err
		}
		objects[o.Key()] = o
	}
	version, _ := strconv.ParseUint(resourceVersion, 10, 64)
	c.liveness.progressed()
	events := c.replace(objects, version)
	changed, first := c.replaced()
	if first {
		events = nil
	}
	for _, event := range events {
		c.notify(event)
	}
	if changed {
		c.changed()
	}
	return nil
}

// recovered, deferred, turns a panic into an error, and records that the cache does not hold everything:
// one object that cannot be stored must not end the process. The Reflector continues with the next one.
func (c *Cache) recovered(err *error) {
	if v := recover(); v != nil {
		klog.Background().Error(nil, "panic while handling a change: this is a bug, please report it", "watch", c.want.String(), "stack", string(debug.Stack()))
		*err = ErrDefect
		c.defect()
	}
}

// Bookmark takes note of how far the watch has come. A watch that was resumed after a failure has then brought what it had missed.
func (c *Cache) Bookmark(resourceVersion string) error {
	c.liveness.progressed()
	defer c.caughtUp()
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return nil // a server whose versions are no numbers: there is nothing to note
	}
	c.passed(version)
	return nil
}

// Resync does nothing: the reconciler looks again by its own clock.
func (c *Cache) Resync() error { return nil }

// Transformer returns what has a list trimmed while it comes in, which may take long.
func (c *Cache) Transformer() toolscache.TransformFunc {
	return func(obj any) (any, error) {
		c.liveness.progressed()
		return c.object(obj)
	}
}

// object returns what is kept of an object that the Reflector brings.
func (c *Cache) object(obj any) (*object.Object, error) {
	o, ok := obj.(*object.Object)
	if !ok {
		return nil, fmt.Errorf("watch %s: unexpected object %T", c.want, obj)
	}
	trimmed, err := c.trimmed(o)
	if err == nil && c.want.Role == Definition {
		c.noteDefined(kind.Defined(trimmed))
	}
	return trimmed, err
}

// trimmed returns an object without what is not kept of it.
func (c *Cache) trimmed(o *object.Object) (*object.Object, error) {
	if c.trim == nil || o.Noted(object.Trimmed) {
		return o, nil
	}
	return c.trim(o, c.Get(o.Key()))
}
