package watch

import (
	"context"
	goruntime "runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/templater-dev/templater/internal/kube/object"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// listener is a Handler that records events.
type listener struct {
	mu     sync.Mutex
	events []string
	states int
}

func (l *listener) Changed(_ Want, e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, describe(e))
}

func (l *listener) StateChanged(Want) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states++
}

// client is a Client of a server with ConfigMaps.
type client struct {
	mu      sync.Mutex
	objects []runtime.Object
	forbid  bool
	streams bool // whether it supports watch-lists
	watch   *apiwatch.FakeWatcher
	watches int  // number of watch requests
	reviews int  // number of access reviews
	revoked bool // whether watches are no longer allowed
	mute    bool // whether access reviews are forbidden
	removed bool // whether the resource no longer exists
}

func (c *client) MayWatch(context.Context, schema.GroupVersionResource, string, string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reviews++
	if c.mute {
		return false, apierrors.NewForbidden(configMaps.GroupResource(), "", nil)
	}
	return !c.revoked, nil
}

func newClient(objects ...runtime.Object) *client {
	return &client{objects: objects, watch: apiwatch.NewFake()}
}

func (c *client) List(context.Context, schema.GroupVersionResource, string, metav1.ListOptions) (runtime.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forbid || c.revoked {
		return nil, apierrors.NewForbidden(configMaps.GroupResource(), "", nil)
	}
	if c.removed {
		return nil, apierrors.NewNotFound(configMaps.GroupResource(), "")
	}
	return &object.List{ListMeta: metav1.ListMeta{ResourceVersion: "2"}, Items: c.objects}, nil
}

func (c *client) Watch(_ context.Context, _ schema.GroupVersionResource, _ string, o metav1.ListOptions) (apiwatch.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches++
	if c.revoked {
		return nil, apierrors.NewForbidden(configMaps.GroupResource(), "", nil)
	}
	if c.removed {
		return nil, apierrors.NewNotFound(configMaps.GroupResource(), "")
	}
	if c.watch.IsStopped() {
		c.watch = apiwatch.NewFake()
	}
	if o.SendInitialEvents != nil && *o.SendInitialEvents {
		c.watch = apiwatch.NewFakeWithChanSize(len(c.objects)+10, false)
		for _, o := range c.objects {
			c.watch.Add(o)
		}
		c.watch.Action(apiwatch.Bookmark, pack(map[string]any{"metadata": map[string]any{
			"resourceVersion": "7", "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
		}}))
	}
	return c.watch, nil
}

// IsWatchListSemanticsUnSupported reports whether List must be used.
func (c *client) IsWatchListSemanticsUnSupported() bool { return !c.streams }

// current returns the running watch.
func (c *client) current() *apiwatch.FakeWatcher {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watch
}

// renew sets the objects of the next list, and creates a new watch. It returns the previous watch.
func (c *client) renew(objects ...runtime.Object) *apiwatch.FakeWatcher {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.watch
	c.objects, c.watch = objects, apiwatch.NewFake()
	return before
}

// sameClient returns the same client for all users.
func sameClient(c *client) func(string) Client { return func(string) Client { return c } }

// eventually waits until the condition is true.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 20*time.Second, true,
		func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("never: %s", what)
	}
}

func TestManagerRunsRequestedWatches(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	l := &listener{}
	m := NewManager(ctx, sameClient(newClient(child("a", "1", 1))), l)
	want := Want{Resource: configMaps, Role: Child}
	first, err := m.Set("one", []Want{want})
	if err != nil {
		t.Fatal(err)
	}
	second, err := m.Set("two", []Want{want})
	if err != nil {
		t.Fatal(err)
	}
	if first[want] != second[want] || m.Running() != 1 {
		t.Errorf("two owners of one want have %d watches, want one that they share", m.Running())
	}
	eventually(t, "the cache syncs", first[want].Synced)
	if got := first[want].Len(); got != 1 {
		t.Errorf("%d objects, want 1", got)
	}
	owners := m.Owners(want)
	slices.Sort(owners)
	if diff := cmp.Diff([]string{"one", "two"}, owners); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	if _, err := m.Set("one", nil); err != nil {
		t.Fatal(err)
	}
	if m.Running() != 1 {
		t.Error("the watch ended although one owner still wants it")
	}
	if _, err := m.Set("two", nil); err != nil {
		t.Fatal(err)
	}
	if m.Running() != 0 || m.Owners(want) != nil {
		t.Error("a watch that nobody wants goes on")
	}
	cancel()
	m.Wait()
}

func TestManagerReportsFailureAndRecovery(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	client := newClient()
	client.forbid = true
	l := &listener{}
	m := NewManager(ctx, sameClient(client), l)
	want := Want{Resource: configMaps, Role: Child}
	caches, err := m.Set("one", []Want{want})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the failure shows", func() bool { return apierrors.IsForbidden(caches[want].Err()) })
	client.mu.Lock()
	client.forbid = false
	client.mu.Unlock()
	eventually(t, "the cache recovers by itself", func() bool { return caches[want].Synced() && caches[want].Err() == nil })
	client.watch.Add(child("b", "2", 5))
	eventually(t, "the new object is reported", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.Contains(l.events, "->b@5")
	})
	cancel()
	m.Wait()
}

// panicking is a Handler that panics.
type panicking struct{ listener }

func (c *panicking) Changed(want Want, e Event) {
	c.listener.Changed(want, e)
	panic("event")
}

func (c *panicking) StateChanged(want Want) {
	c.listener.StateChanged(want)
	panic("state")
}

func TestManagerSurvivesHandlerPanics(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	client, handler := newClient(), &panicking{}
	m := NewManager(ctx, sameClient(client), handler)
	want := Want{Resource: configMaps, Role: Child}
	caches, err := m.Set("one", []Want{want})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cache syncs", caches[want].Synced)
	for i, name := range []string{"a", "b"} {
		client.watch.Add(child(name, "1", 5+i))
		eventually(t, "the object is there", func() bool { return caches[want].Len() == i+1 })
	}
	cancel()
	m.Wait()
	if len(handler.events) != 2 || caches[want].Err() != nil {
		t.Errorf("events %v, error %v; want both events, and a cache that is well", handler.events, caches[want].Err())
	}
}

func TestManagerLeaksNoGoroutines(t *testing.T) {
	defer goleak.VerifyNone(t)
	before := goruntime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	m := NewManager(ctx, sameClient(newClient()), &listener{})
	for i := range 200 {
		owner := strconv.Itoa(i)
		want := Want{Resource: configMaps, Role: Child, Namespace: owner}
		caches, err := m.Set(owner, []Want{want})
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 { // stop some before they have synced
			eventually(t, "the cache syncs", caches[want].Synced)
		}
		if _, err := m.Set(owner, nil); err != nil {
			t.Fatal(err)
		}
	}
	if m.Running() != 0 {
		t.Errorf("%d watches are running, want none", m.Running())
	}
	eventually(t, "all goroutines of watches end while the manager goes on", func() bool { return goruntime.NumGoroutine() <= before })
	cancel()
	m.Wait()
}

func TestManagerRejectsInvalidSelectors(t *testing.T) {
	m := NewManager(t.Context(), sameClient(newClient()), &listener{})
	if _, err := m.Set("one", []Want{{Resource: configMaps}, {Labels: "=="}}); err == nil {
		t.Error("a selector that is none is taken")
	}
	if m.Running() != 0 {
		t.Error("a refused set was half taken")
	}
}

func TestUsersDoNotShareAWatch(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	mine, theirs := newClient(child("a", "1", 1)), newClient(child("b", "1", 1))
	m := NewManager(ctx, func(as string) Client {
		return map[string]*client{"": mine, "them": theirs}[as]
	}, &listener{})
	want := Want{Resource: configMaps, Role: Child}
	asThem := want
	asThem.As = "them"
	caches, err := m.Set("one", []Want{want, asThem})
	if err != nil {
		t.Fatal(err)
	}
	if m.Running() != 2 {
		t.Errorf("%d watches for two users, want 2", m.Running())
	}
	for w, name := range map[Want]string{want: "a", asThem: "b"} {
		eventually(t, "the cache syncs", caches[w].Synced)
		if caches[w].Len() != 1 || caches[w].Get(types.NamespacedName{Namespace: "ns", Name: name}) == nil {
			t.Errorf("the cache of %s does not hold what that user reads", w)
		}
	}
	cancel()
	m.Wait()
}

func TestIncompleteCacheIsRelisted(t *testing.T) {
	for how, streams := range map[string]bool{"by a list": false, "by a watch-list": true} {
		t.Run(how, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			ctx, cancel := context.WithCancel(t.Context())
			client := newClient()
			client.streams = streams
			m := NewManager(ctx, sameClient(client), &listener{})
			want := Want{Resource: configMaps, Role: Child}
			caches, err := m.Set("one", []Want{want})
			if err != nil {
				t.Fatal(err)
			}
			cache := caches[want]
			eventually(t, "the cache syncs", cache.Synced)
			client.current().Add(child("a", "1", 5))
			eventually(t, "the watch brings an object", func() bool { return cache.Len() == 1 })
			cache.markBroken()
			client.renew(child("a", "1", 5), child("b", "2", 6)).Stop() // as every watch ends at some time
			eventually(t, "the next list brings what is lacking", func() bool { return cache.Err() == nil && cache.Len() == 2 })
			cancel()
			m.Wait()
		})
	}
}
