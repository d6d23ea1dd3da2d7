package watch

import (
	"context"
	"math/rand/v2"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// errRelist makes a Reflector relist.
var errRelist = apierrors.NewResourceExpired("received a watch event for an object that is not in the cache, relisting")

// shortWatchSeconds is the duration, in seconds, of a watch that is resumed after a failure, and shortWatchJitter is the maximum random
// addition. The API server sends a bookmark two seconds before the end of a watch, but otherwise only once a minute.
const shortWatchSeconds, shortWatchJitter = 5, 3

// requests sends the requests of one watch and records their results in its cache.
type requests struct {
	want   Want
	cache  *Cache
	client Client
	pace   *pace

	failures failures

	mu      sync.Mutex
	running apiwatch.Interface // the last watch
}

func (m *Manager) requests(want Want, cache *Cache, p *pace) *requests {
	return &requests{want: want, cache: cache, client: m.clients(want.As), pace: p, failures: failures{lines: m.linesOf(want.tenant())}}
}

func (r *requests) listerWatcher() toolscache.ListerWatcher {
	return toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{ListWithContextFunc: r.list, WatchFuncWithContext: r.watch}, r.client)
}

func (r *requests) withSelectors(o metav1.ListOptions) metav1.ListOptions {
	o.LabelSelector, o.FieldSelector = r.want.Labels, r.want.Fields
	return o
}

func (r *requests) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	r.cache.Paused()
	answered, err := r.pace.begin(ctx, r.cache)
	if err != nil {
		return nil, err
	}
	if o.ResourceVersion == "0" {
		o.ResourceVersion = "" // "0" may return an older state than the one another replica has read
	}
	r.cache.Listing()
	list, err := r.client.List(ctx, r.want.Resource, r.want.Namespace, r.withSelectors(o))
	answered()
	if err != nil && ctx.Err() == nil {
		r.failures.log(ctx, r.want, err)
		r.cache.Fail(err)
	}
	r.cache.liveness.answered(err)
	return list, err
}

// pausing is a watch that the Reflector stops as soon as it ends.
type pausing struct {
	apiwatch.Interface
	cache *Cache
	once  sync.Once
}

// Stop stops the watch, and marks the cache as paused.
func (p *pausing) Stop() {
	p.once.Do(p.cache.Paused)
	p.Interface.Stop()
}

// watch also lists if the options request initial events: the Reflector then calls Replace when they are complete.
func (r *requests) watch(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	lists := o.SendInitialEvents != nil && *o.SendInitialEvents
	if !lists {
		switch r.cache.resumption() {
		case relist:
			return nil, errRelist
		case resumeShort:
			o.TimeoutSeconds = new(shortWatchSeconds + rand.Int64N(shortWatchJitter+1)) //nolint:gosec // not used for secrets
		case resume:
		}
	}
	r.cache.Paused()
	answered, err := r.pace.begin(ctx, r.cache)
	if err != nil {
		return nil, err
	}
	if lists {
		r.cache.Listing()
	}
	w, err := r.client.Watch(ctx, r.want.Resource, r.want.Namespace, r.withSelectors(o))
	answered()
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if !lists { // otherwise, the Reflector falls back to a list, which succeeds or fails the same way
			r.failures.log(ctx, r.want, err)
		}
		r.cache.FailWatch(err)
	default:
		r.failures.over()
		r.cache.Watching()
		w = &pausing{Interface: w, cache: r.cache}
	}
	r.cache.liveness.answered(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = w
	return w, err
}
