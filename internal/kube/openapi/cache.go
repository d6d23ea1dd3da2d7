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
	// maxTypeBytes limits the memory for all types, in bytes. One kind takes between 5 and 80 KB.
	maxTypeBytes = 20 << 20
	// lookupTimeout is the timeout of Lookup if the server does not respond.
	lookupTimeout = 5 * time.Second
	// Backoff after failed requests: the first and the maximum delay.
	minBackoff, maxBackoff = 5 * time.Second, 10 * time.Minute
	// documentTTL is how long a document without a hash is cached: kinds that are not custom change only with the release of
	// their server. absentTTL is how long it is cached that there is no document for a kind.
	documentTTL, absentTTL = 10 * time.Minute, 10 * time.Second
	// MaxDocumentBytes is the maximum size of a CustomResourceDefinition or document, in bytes. The largest ones of Kubernetes have about
	// 3 MB. Parsing takes many times that memory.
	MaxDocumentBytes = 6 << 20
	// maxCustomRead is the same if CustomResourceDefinitions are not watched: a document then contains all custom kinds of a group
	// version.
	maxCustomRead = 32 << 20
	// maxReaders limits concurrent reads.
	maxReaders = 1
)

// CacheOptions configure a Cache.
type CacheOptions struct {
	Reader Reader
	// Definitions returns the CustomResourceDefinitions of a kind, possibly trimmed; a watch.Cache provides them. With it, cached
	// schemas of custom kinds are never older than the watched definitions. It is nil if CustomResourceDefinitions are not
	// watched.
	Definitions func(schema.GroupKind) []*object.Object
	// Serve reports whether CustomResourceDefinitions serve kinds in a group version. It is nil if they are not watched.
	Serve func(schema.GroupVersion) bool
	// Again is called in a separate goroutine for each kind that could not be read, when it should be looked up again. Optional.
	Again  func(schema.GroupKind)
	Clock  clock.WithDelayedExecution
	Logger klog.Logger
}

// Reader reads from the API server. A kube.Client implements it.
type Reader interface {
	// Read sends a GET request for path and returns the JSON body. It returns an error if the body has more than most bytes.
	Read(ctx context.Context, path string, most int64) ([]byte, error)
}

// Cache is a Set of the kinds of a cluster. Schemas that the server does not publish, or that are forbidden, are unknown. A Cache
// is safe for concurrent use. It starts no goroutines: the caller who needs an uncached schema makes the request.
type Cache struct {
	CacheOptions
	turns chan struct{} // semaphore for reads

	mu      sync.Mutex
	sources map[string]*source // by path
	bytes   int                // of all sources
	uses    uint64
	away    time.Time // until then, the server is assumed to be unavailable
}

// NewCache returns an empty Cache.
func NewCache(o CacheOptions) *Cache {
	return &Cache{CacheOptions: o, turns: make(chan struct{}, maxReaders), sources: map[string]*source{}}
}

// Lookup returns the type of the objects of a kind. It returns after a few seconds at the latest.
func (c *Cache) Lookup(gvk schema.GroupVersionKind) (*Type, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	return c.lookup(ctx, gvk, time.Time{})
}

// Within returns a Set that contains the cached kinds, and those that can be read until ctx is done.
func (c *Cache) Within(ctx context.Context) Set {
	return lookup(func(gvk schema.GroupVersionKind) (*Type, bool) { return c.lookup(ctx, gvk, time.Time{}) })
}

// Anew is like Within, but reads CustomResourceDefinitions again even if they are cached. Use it before rejecting something,
// because the watch may be stale.
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

// of returns the Set for a kind, or nil.
func (c *Cache) of(ctx context.Context, gvk schema.GroupVersionKind, after time.Time) Set {
	gk := gvk.GroupKind()
	if c.Definitions != nil {
		switch definitions := c.Definitions(gk); len(definitions) {
		case 0:
		case 1:
			return c.defined(ctx, gk, definitions[0], after)
		default: // whose names conflict
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
