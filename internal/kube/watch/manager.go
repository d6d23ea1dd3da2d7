package watch

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/templater-dev/templater/internal/kube/object"
)

// retry is the backoff of list and watch requests. It is short, so that a granted permission or a recovered server is noticed
// within seconds.
var retry = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 30, Cap: 4 * time.Second}

// retryReset is how long a watch must run successfully to reset the backoff.
const retryReset = 2 * time.Minute

// Handler receives events. Its methods are called from the goroutines of the watches, and must not block.
type Handler interface {
	// Changed is called for each change of an object.
	Changed(want Want, event Event)
	// StateChanged is called when the cache of want has synced, failed or recovered.
	StateChanged(want Want)
}

// Client lists and watches for a Reflector, and returns *object.Object. A kube.Client implements it. The namespace is empty for
// all namespaces and for cluster-scoped resources.
type Client interface {
	List(ctx context.Context, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) (runtime.Object, error)
	Watch(ctx context.Context, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) (apiwatch.Interface, error)
	// MayWatch reports whether the user is allowed to watch the resource with that field selector.
	MayWatch(ctx context.Context, resource schema.GroupVersionResource, namespace, fieldSelector string) (bool, error)
}

// Manager runs the watches of all wants. It is safe for concurrent use.
type Manager struct {
	clients func(as string) Client
	handler Handler
	now     func() time.Time
	recheck time.Duration // interval of permission checks, see recheckPermission
	trims   map[Role]func(o, kept *object.Object) (*object.Object, error)

	allLines flowcontrol.PassiveRateLimiter // shared by all tenants

	mu      sync.Mutex
	ctx     context.Context //nolint:containedctx // of all watches, given to NewManager
	running map[Want]*running
	paces   map[string]*pace // by tenant
	lines   *lru.Cache       // of *lines, by tenant
	done    sync.WaitGroup
}

type running struct {
	cache  *Cache
	stop   context.CancelFunc
	owners map[string]struct{}
}

// NewManager returns a manager whose watches run until ctx is done. clients returns a client that impersonates the user; an empty
// user means the operator itself.
func NewManager(ctx context.Context, clients func(as string) Client, handler Handler) *Manager {
	return &Manager{clients: clients, handler: handler, now: time.Now, recheck: recheckPermission, ctx: ctx, trims: map[Role]func(o, kept *object.Object) (*object.Object, error){}, running: map[Want]*running{}, paces: map[string]*pace{}, allLines: flowcontrol.NewTokenBucketPassiveRateLimiter(allLinesPerSecond, allLinesBurst), lines: lru.New(maxLoggedTenants)}
}

// Trim sets the trim function of caches for the role: see Cache.TrimBy. Call it before Set.
func (m *Manager) Trim(role Role, trim func(o, kept *object.Object) (*object.Object, error)) {
	m.trims[role] = trim
}

// Set replaces the wants of owner, starts and stops watches accordingly, and returns a cache for each want. It does not wait for
// the caches to sync. If a selector is invalid, it returns an error and changes nothing.
func (m *Manager) Set(owner string, wants []Want) (map[Want]*Cache, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := map[Want]*Cache{}
	caches := make(map[Want]*Cache, len(wants))
	for _, want := range wants {
		if r := m.running[want]; r != nil {
			caches[want] = r.cache
			continue
		}
		cache, err := m.newCache(want)
		if err != nil {
			return nil, err
		}
		fresh[want], caches[want] = cache, cache
	}
	for want, cache := range fresh {
		m.running[want] = m.start(want, cache)
	}
	for want, r := range m.running {
		if _, ok := caches[want]; ok {
			r.owners[owner] = struct{}{}
		} else {
			m.release(want, r, owner)
		}
	}
	return caches, nil
}

// Owners returns the owners of want.
func (m *Manager) Owners(want Want) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.running[want]
	if r == nil {
		return nil
	}
	owners := make([]string, 0, len(r.owners))
	for owner := range r.owners {
		owners = append(owners, owner)
	}
	return owners
}

// Running returns the number of running watches.
func (m *Manager) Running() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.running)
}

// Wait waits until all watches have ended. They end when the manager's context is done.
func (m *Manager) Wait() { m.done.Wait() }

func (m *Manager) release(want Want, r *running, owner string) {
	delete(r.owners, owner)
	if len(r.owners) == 0 {
		r.stop()
		delete(m.running, want)
		m.leave(want.tenant())
	}
}

func (m *Manager) newCache(want Want) (*Cache, error) {
	cache, err := NewCache(want,
		func(e Event) {
			defer m.recovered(want)
			m.handler.Changed(want, e)
		},
		func() {
			defer m.recovered(want)
			m.handler.StateChanged(want)
		})
	if err == nil {
		cache.liveness.begin(m.now)
		if trim := m.trims[want.Role]; trim != nil {
			cache.TrimBy(trim)
		}
	}
	return cache, err
}

// recovered must be deferred. It recovers from a panic of the handler, so that one event cannot end the watch and the process.
func (m *Manager) recovered(want Want) {
	if v := recover(); v != nil {
		klog.FromContext(m.ctx).Error(nil, "panic while handling an event: this is a bug, please report it", "watch", want.String(), "stack", string(debug.Stack()))
	}
}

func (m *Manager) start(want Want, cache *Cache) *running {
	ctx, stop := context.WithCancel(m.ctx)
	logger := klog.FromContext(m.ctx).V(2) // failures are logged by requests
	backoff := retry
	requests := m.requests(want, cache, m.join(want.tenant()))
	reflector := toolscache.NewReflectorWithOptions(requests.listerWatcher(), &object.Object{}, cache,
		toolscache.ReflectorOptions{Logger: &logger, Name: want.String(), TypeDescription: want.String(), Backoff: &backoff})
	m.done.Go(func() { follow(klog.NewContext(ctx, logger), reflector) })
	if want.Role == Related || want.Role == Namespace {
		m.done.Go(func() { requests.recheck(ctx, m.recheck) })
	}
	return &running{cache: cache, stop: stop, owners: map[string]struct{}{}}
}

// follow is Reflector.RunWithContext, but it does not log each repeated failure as an error.
func follow(ctx context.Context, reflector *toolscache.Reflector) {
	_ = retry.DelayWithReset(clock.RealClock{}, retryReset).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			klog.FromContext(ctx).Info("watch ended, will retry", "watch", reflector.Name(), "reason", err)
		}
		return false, nil
	})
}
