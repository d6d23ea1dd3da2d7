package watch

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
)

// Event is a change in a Cache. Old is nil for a new object, New is nil for a deleted one. If the event is a write of this
// process, Writer is the writer of New (see Cache.Put), otherwise it is empty.
type Event struct {
	Old, New *object.Object
	Writer   string
}

// Object returns the current object, or the last state of a deleted one.
func (e Event) Object() *object.Object {
	if e.New != nil {
		return e.New
	}
	return e.Old
}

// Cache is a copy of the objects selected by a Want. A client-go Reflector feeds it. Readers get the stored objects, which are
// immutable. A Cache consists of the indexed objects, whether they are current, and the state of the watch.
//
// Writes of this process are merged by resource version, which Kubernetes declares comparable within a resource (KEP-5504). Watch
// events are ordered by resource version. So a write with an older version than the last event has been delivered already, and a
// newer one will be.
//
// A Cache is safe for concurrent use. Events are delivered in order, one at a time, after the change is stored. The first list
// causes no events.
type Cache struct {
	objects
	currentness

	want     Want
	trim     func(o, kept *object.Object) (*object.Object, error) // see TrimBy; nil = objects are not trimmed
	notify   func(Event)
	liveness liveness
}

// item is the cache entry of an object. It is kept as long as an object with that name exists.
type item struct {
	object   *object.Object
	writer   string // who wrote the object, until the watch delivers it
	deleting bool   // this process has deleted it
	links    [indexes]link
}

var (
	_ toolscache.ReflectorStore         = (*Cache)(nil)
	_ toolscache.ReflectorBookmarkStore = (*Cache)(nil)
	_ toolscache.TransformingStore      = (*Cache)(nil)
)

// NewCache returns an empty cache for want. It calls notify for each change of an object, and changed when the result of Synced
// or Err changes. Both must not block or call methods that modify the cache.
func NewCache(want Want, notify func(Event), changed func()) (*Cache, error) {
	selector, err := labels.Parse(want.Labels)
	if err != nil {
		return nil, err
	}
	c := &Cache{
		want: want, notify: notify, currentness: currentness{changed: changed},
		objects: objects{want: want, selector: selector, items: map[types.NamespacedName]*item{}, index: newIndex(want.Role)},
	}
	if want.Role == Definition {
		c.trim = func(o, _ *object.Object) (*object.Object, error) { return kind.Trim(o) }
	}
	c.liveness.begin(time.Now)
	return c, nil
}

// TrimBy sets the function that trims objects before they are stored. It must note object.Trimmed on its result. kept is the
// cached object with that name, or nil. Call TrimBy before using the cache.
func (c *Cache) TrimBy(trim func(o, kept *object.Object) (*object.Object, error)) { c.trim = trim }

// Of reports whether the cache was created for want.
func (c *Cache) Of(want Want) bool { return c.want == want }

// Put stores the response of a write by this process. writer is set in the Event when the watch delivers the same state.
func (c *Cache) Put(o *object.Object, writer string) {
	if o, err := c.trimmed(o); err == nil { // on an error, wait for the watch
		c.put(o, writer)
	}
}
