package watch

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
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

// Object returns the object as it is, or as it was before it was deleted.
func (e Event) Object() *object.Object {
	if e.New != nil {
		return e.New
	}
	return e.Old
}

// Cache is a copy of the objects that one Want names. A client-go Reflector
// feeds it; readers get the objects themselves, and must not change them. It has three parts: the objects with their indexes, whether these
// are current, and what follows the watch.
//
// Own writes are merged by resource version, which Kubernetes declares
// comparable within a resource (KEP-5504): a watch brings changes in the order
// of their versions, so a write with a version that the watch has passed is
// known already, and a later one will come.
//
// A Cache is safe for concurrent use. Events are reported in order, one at a
// time, after the Cache holds the change; what the first list brings is none.
type Cache struct {
	objects
	currentness

	want     Want
	trim     func(o, kept *object.Object) (*object.Object, error) // see TrimBy; nil = all is kept
	notify   func(Event)
	liveness liveness
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
		want: want, notify: notify, currentness: currentness{changed: changed},
		objects: objects{want: want, selector: selector, items: map[types.NamespacedName]*item{}, index: newIndex(want.Role)},
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

// Put stores an object as the server returned it for a write of ours. writer is
// set in the Event when the watch delivers the same state.
func (c *Cache) Put(o *object.Object, writer string) {
	if o, err := c.trimmed(o); err == nil { // else the watch brings it
		c.put(o, writer)
	}
}
