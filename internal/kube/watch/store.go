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

// The methods in this file implement the store interfaces of a Reflector, which feeds the Cache.

// Add stores an object that the watch has delivered.
func (c *Cache) Add(obj any) error { return c.Update(obj) }

// Update stores an object that the watch has delivered.
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

// Replace stores the result of a list. It keeps newer writes of this process. The first list causes no events, only the
// notification that the cache has synced.
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

// recovered must be deferred. It turns a panic into an error and records that an event is missing from the cache: one object that
// cannot be stored must not crash the process. The Reflector continues with the next event.
func (c *Cache) recovered(err *error) {
	if v := recover(); v != nil {
		klog.Background().Error(nil, "panic while handling a change: this is a bug, please report it", "watch", c.want.String(), "stack", string(debug.Stack()))
		*err = ErrDefect
		c.markBroken()
	}
}

// Bookmark records the resource version of the watch. If the watch was resumed after a failure, the cache has now caught up.
func (c *Cache) Bookmark(resourceVersion string) error {
	c.liveness.progressed()
	defer c.caughtUp()
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return nil // resource versions of this server are not numbers: nothing to record
	}
	c.passed(version)
	return nil
}

// Resync is a no-op: the reconciler schedules its own resyncs.
func (c *Cache) Resync() error { return nil }

// Transformer returns a function that trims the objects of a list while it is received, and records progress, because a list may
// take long.
func (c *Cache) Transformer() toolscache.TransformFunc {
	return func(obj any) (any, error) {
		c.liveness.progressed()
		return c.object(obj)
	}
}

// object returns the trimmed object, and records its kind if it is a CustomResourceDefinition.
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

// trimmed returns an object without the parts that are not kept.
func (c *Cache) trimmed(o *object.Object) (*object.Object, error) {
	if c.trim == nil || o.Noted(object.Trimmed) {
		return o, nil
	}
	return c.trim(o, c.Get(o.Key()))
}
