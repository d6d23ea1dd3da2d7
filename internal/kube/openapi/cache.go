package openapi

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube/object"
)

const (
	// mostTypes is how many bytes all types may take. One kind takes between 5 and 80 KB.
	mostTypes = 20 << 20
	// lookupTime is how long Lookup may take where the server does not answer.
	lookupTime = 5 * time.Second
	// After a failure, the server is asked again first after one time, and at last after each time of the other.
	firstRead, lastRead = 5 * time.Second, 10 * time.Minute
	// publishedFor is how long the documents are taken to be as they were: other kinds than custom ones change with the
	// release of their server. That there is none for a kind is believed for absentFor.
	publishedFor, absentFor = 10 * time.Minute, 10 * time.Second
	// MostRead is how many bytes are read of a definition, or of a document. The largest ones of Kubernetes have about 3 MB. Reading
	// takes many times the memory of the text.
	MostRead = 6 << 20
	// mostCustom is the same where nobody watches the definitions: a document has all custom kinds of a version of a group.
	mostCustom = 32 << 20
	// mostReaders is how many are read at a time.
	mostReaders = 1
)

// CacheOptions are what a Cache works with.
type CacheOptions struct {
	Reader Reader
	// Definitions returns the CustomResourceDefinitions of a kind, be they trimmed; a watch.Cache has them. With them,
	// what is known of custom kinds is never older than they are. Nil is for where nobody watches them.
	Definitions func(schema.GroupKind) []*object.Object
	// Serve reports whether CustomResourceDefinitions serve kinds in a version of a group. Nil is for where nobody watches them.
	Serve func(schema.GroupVersion) bool
	// Again is called, later and in a goroutine of its own, for the kinds that could not be read: ask for them again. Nil is
	// for who does not want to know.
	Again  func(schema.GroupKind)
	Clock  clock.WithDelayedExecution
	Logger klog.Logger
}

// Reader makes requests; a kube.Client does.
type Reader interface {
	// Read reads what is at a path of the server, as JSON. More than so many bytes are an error.
	Read(ctx context.Context, path string, most int64) ([]byte, error)
}

// Cache is a schema.Set of the kinds of a cluster. Of what the server does not tell, or tells to others only, nothing is known.
// It is safe for concurrent use. Who asks for what is not known yet makes the request: a Cache has no goroutines.
type Cache struct {
	CacheOptions
	turns chan struct{} // of those who read

	mu      sync.Mutex
	sources map[string]*source // by path
	bytes   int                // of all sources
	uses    uint64
	away    time.Time // until when the server is taken not to answer
}

// NewCache returns a Cache that knows nothing yet.
func NewCache(o CacheOptions) *Cache {
	return &Cache{CacheOptions: o, turns: make(chan struct{}, mostReaders), sources: map[string]*source{}}
}

// Lookup returns the type of the objects of a kind, after some seconds at most.
func (c *Cache) Lookup(gvk schema.GroupVersionKind) (*Type, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
	defer cancel()
	return c.lookup(ctx, gvk, time.Time{})
}

// Within returns a Set that knows what the Cache knows, or can read until ctx ends.
func (c *Cache) Within(ctx context.Context) Set {
	return lookup(func(gvk schema.GroupVersionKind) (*Type, bool) { return c.lookup(ctx, gvk, time.Time{}) })
}

// Anew is Within, but that definitions are read once more, whatever is known of them. It is for who has to be sure, such as
// to refuse something: what is watched can be late.
func (c *Cache) Anew(ctx context.Context) Set {
	began := c.Clock.Now()
	return lookup(func(gvk schema.GroupVersionKind) (*Type, bool) { return c.lookup(ctx, gvk, began) })
}

type lookup func(schema.GroupVersionKind) (*Type, bool)

func (l lookup) Lookup(gvk schema.GroupVersionKind) (*Type, bool) { return l(gvk) }

func (c *Cache) lookup(ctx context.Context, gvk schema.GroupVersionKind, after time.Time) (*Type, bool) {
	set := c.of(ctx, gvk, after)
	if set == nil {
		return nil, true
	}
	return set.Lookup(gvk)
}

// of returns what tells of a kind, or nil.
func (c *Cache) of(ctx context.Context, gvk schema.GroupVersionKind, after time.Time) Set {
	gk := gvk.GroupKind()
	if c.Definitions != nil {
		switch definitions := c.Definitions(gk); len(definitions) {
		case 0:
		case 1:
			return c.defined(ctx, gk, definitions[0], after)
		default: // which fight for the name
			return nil
		}
	}
	if c.Serve != nil && c.Serve(gvk.GroupVersion()) {
		if set := c.listed(ctx, gvk); set == nil || !has(set, gvk) {
			return set
		}
	}
	return c.published(ctx, gvk)
}
