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

// errListAnew has a Reflector begin with a list.
var errListAnew = apierrors.NewResourceExpired("the cache lacks an object that the watch has returned")

// briefWatch is for how many seconds a watch runs that is resumed after a failure, and briefSpread how many more it may be. The API server
// sends a bookmark two seconds before the end, and else once a minute.
const briefWatch, briefSpread = 5, 3

// requests makes the requests of one watch and has its cache know how they went.
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

func (r *requests) narrow(o metav1.ListOptions) metav1.ListOptions {
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
		o.ResourceVersion = "" // "0" may be older than what another replica has read
	}
	r.cache.Listing()
	list, err := r.client.List(ctx, r.want.Resource, r.want.Namespace, r.narrow(o))
	answered()
	if err != nil && ctx.Err() == nil {
		r.failures.log(ctx, r.want, err)
		r.cache.Fail(err)
	}
	r.cache.liveness.answered(err)
	return list, err
}

// pausing is a watch that a Reflector stops as soon as it ends.
type pausing struct {
	apiwatch.Interface
	cache *Cache
	once  sync.Once
}

// Stop stops the watch, and records that none runs.
func (p *pausing) Stop() {
	p.once.Do(p.cache.Paused)
	p.Interface.Stop()
}

// watch lists, too, where the options ask for initial events: then the Reflector calls Replace when all have come.
func (r *requests) watch(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	lists := o.SendInitialEvents != nil && *o.SendInitialEvents
	if !lists {
		switch r.cache.resumption() {
		case listAnew:
			return nil, errListAnew
		case resumeBriefly:
			o.TimeoutSeconds = new(briefWatch + rand.Int64N(briefSpread+1)) //nolint:gosec // keeps no secret
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
	w, err := r.client.Watch(ctx, r.want.Resource, r.want.Namespace, r.narrow(o))
	answered()
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if !lists { // else the Reflector lists as before, which succeeds, or fails likewise
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
