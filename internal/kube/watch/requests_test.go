package watch

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/templater-dev/templater/internal/kube/object"
)

// answering is a Client that returns err and records requests.
type answering struct {
	err   error
	after time.Duration

	mu    sync.Mutex
	asked []metav1.ListOptions
}

func (a *answering) List(_ context.Context, _ schema.GroupVersionResource, _ string, o metav1.ListOptions) (runtime.Object, error) {
	a.ask(o)
	return &object.List{}, a.err
}

func (a *answering) Watch(_ context.Context, _ schema.GroupVersionResource, _ string, o metav1.ListOptions) (apiwatch.Interface, error) {
	a.ask(o)
	return apiwatch.NewFake(), a.err
}

func (a *answering) ask(o metav1.ListOptions) {
	a.mu.Lock()
	a.asked = append(a.asked, o)
	a.mu.Unlock()
	if a.after > 0 {
		<-time.After(a.after)
	}
}

// requests returns the number of requests since its last call.
func (a *answering) requests() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.asked)
	a.asked = nil
	return n
}

func (*answering) MayWatch(context.Context, schema.GroupVersionResource, string, string) (bool, error) {
	return true, nil
}

var errBefore, errNow = errors.New("before"), errors.New("now")

// A list with resource version "0" may be older than the state that another replica has read.
func TestListIsNotServedFromStaleCache(t *testing.T) {
	for asked, sent := range map[string]string{"0": "", "": "", "7": "7"} {
		client, want := &answering{}, Want{Resource: configMaps}
		m := NewManager(t.Context(), func(string) Client { return client }, &listener{})
		r := m.requests(want, newRecorder(t, want).Cache, m.join(want.tenant()))
		if _, err := r.list(t.Context(), metav1.ListOptions{ResourceVersion: asked}); err != nil {
			t.Fatal(err)
		}
		if got := client.asked[0].ResourceVersion; got != sent {
			t.Errorf("a list of %q asks for %q, want %q", asked, got, sent)
		}
	}
}

func TestCacheRecordsRequestResults(t *testing.T) {
	list := func(ctx context.Context, lw toolscache.ListerWatcherWithContext) {
		_, _ = lw.ListWithContext(ctx, metav1.ListOptions{})
	}
	watch := func(ctx context.Context, lw toolscache.ListerWatcherWithContext) {
		_, _ = lw.WatchWithContext(ctx, metav1.ListOptions{})
	}
	watchList := func(ctx context.Context, lw toolscache.ListerWatcherWithContext) {
		_, _ = lw.WatchWithContext(ctx, metav1.ListOptions{SendInitialEvents: new(true)})
	}
	for why, row := range map[string]struct {
		do     func(context.Context, toolscache.ListerWatcherWithContext)
		answer error
		synced bool
		over   bool // whether the watch has been canceled
		want   error
	}{
		"failed list": {do: list, answer: errNow, want: errNow},
		"successful list is not current before it is processed": {do: list, synced: true, want: errBefore},
		"list canceled at shutdown":                             {do: list, answer: errNow, over: true, want: errBefore},
		"failed watch":                                          {do: watch, answer: errNow, synced: true, want: errNow},
		"failed first watch":                                    {do: watch, answer: errNow, want: errNow},
		"accepted watch without events":                         {do: watch, synced: true, want: ErrBehind},
		"accepted watch list without events":                    {do: watchList, synced: true, want: ErrBehind},
		"accepted first watch keeps the last error":             {do: watch, want: errBefore},
		"a watch that is cut short at the end is no failure":    {do: watch, answer: errNow, synced: true, over: true, want: errBefore},
	} {
		t.Run(why, func(t *testing.T) {
			begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			clock := clocktesting.NewFakePassiveClock(begin)
			want := Want{Resource: configMaps, Labels: "a=b", Fields: "c=d"}
			cache := newRecorder(t, want).Cache
			cache.liveness.begin(clock.Now)
			if row.synced {
				if err := cache.Replace(nil, "1"); err != nil {
					t.Fatal(err)
				}
			}
			cache.Fail(errBefore)
			clock.SetTime(begin.Add(time.Minute))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if row.over {
				cancel()
			}
			client := &answering{err: row.answer}
			m := NewManager(t.Context(), func(string) Client { return client }, &listener{})
			row.do(ctx, toolscache.ToListerWatcherWithContext(m.requests(want, cache, m.join(want.tenant())).listerWatcher()))
			if err := cache.Err(); !errors.Is(err, row.want) {
				t.Errorf("err = %v, want %v", err, row.want)
			}
			if heard := cache.State().Heard.Sub(begin); heard != time.Minute {
				t.Errorf("last heard of after %v, want 1m", heard)
			}
			for i := range client.asked {
				client.asked[i].SendInitialEvents, client.asked[i].TimeoutSeconds = nil, nil
			}
			if diff := cmp.Diff([]metav1.ListOptions{{LabelSelector: "a=b", FieldSelector: "c=d"}}, client.asked); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// slow is a Handler that is still processing an event when the watch is canceled.
type slow struct {
	listener
	over  context.Context //nolint:containedctx // of the watches
	ended atomic.Bool
}

func (s *slow) Changed(Want, Event) {
	<-s.over.Done()
	for range 10_000 {
		goruntime.Gosched()
	}
	s.ended.Store(true)
}

func TestManagerWaitsForAllWatches(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	client, handler, want := newClient(), &slow{over: ctx}, Want{Resource: configMaps}
	m := NewManager(ctx, sameClient(client), handler)
	caches, err := m.Set("one", []Want{want})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cache syncs", caches[want].Synced)
	client.current().Add(child("a", "1", 5))
	eventually(t, "the event comes", func() bool { return caches[want].Len() == 1 })
	cancel()
	m.Wait()
	if !handler.ended.Load() {
		t.Error("a watch goes on")
	}
}

func TestHandlerPanicsAreLogged(t *testing.T) {
	logged := 0
	logger := funcr.New(func(_, _ string) { logged++ }, funcr.Options{})
	handler := &panicking{}
	m := NewManager(klog.NewContext(t.Context(), logger), sameClient(newClient()), handler)
	cache, err := m.newCache(Want{Resource: configMaps})
	if err != nil {
		t.Fatal(err)
	}
	if err := cache.Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	if err := cache.Update(child("a", "1", 5)); err != nil {
		t.Fatal(err)
	}
	if handler.states != 1 || len(handler.events) != 1 || logged != 2 {
		t.Errorf("%d states and events %v were told, and %d panics logged; want 1, 1 and 2", handler.states, handler.events, logged)
	}
}
