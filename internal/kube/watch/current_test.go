package watch

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/kube/object"
)

// resumed ends a failure like a resumed watch: the server accepts the watch, and sends a bookmark after the missed events.
func resumed(t *testing.T, cache *Cache) {
	t.Helper()
	cache.Watching()
	if err := cache.Bookmark("1"); err != nil {
		t.Fatal(err)
	}
}

func TestCacheIsCurrentOnlyAfterData(t *testing.T) {
	failure, forbidden := errors.New("no answer"), apierrors.NewForbidden(configMaps.GroupResource(), "", nil)
	list := func(c *Cache) { _ = c.Replace(nil, "5") }
	bookmark := func(c *Cache) { _ = c.Bookmark("6") }
	fail := func(c *Cache) { c.Fail(failure) }
	failWatch := func(c *Cache) { c.FailWatch(failure) }
	forbid := func(c *Cache) { c.FailWatch(forbidden) }
	event := func(c *Cache) { _ = c.Update(child("a", "1", 6)) }
	for why, row := range map[string]struct {
		steps []func(*Cache)
		want  uint64
		next  resumption
	}{
		"nothing was read yet":                                 {nil, 0, resume},
		"a bookmark is no list":                                {[]func(*Cache){bookmark}, 0, resume},
		"a list was read":                                      {[]func(*Cache){list}, 1, resume},
		"a watch was accepted after the list":                  {[]func(*Cache){list, (*Cache).Watching}, 1, resume},
		"the watch ended and was accepted again":               {[]func(*Cache){list, (*Cache).Watching, bookmark, (*Cache).Watching}, 1, resume},
		"a request failed":                                     {[]func(*Cache){list, fail}, 0, resumeShort},
		"the watch was resumed, but nothing has come":          {[]func(*Cache){list, failWatch, (*Cache).Watching}, 0, relist},
		"an event has come, and others may follow":             {[]func(*Cache){list, failWatch, (*Cache).Watching, event}, 0, relist},
		"a bookmark has come, after all that was missed":       {[]func(*Cache){list, failWatch, (*Cache).Watching, event, bookmark}, 2, resume},
		"it failed again before the bookmark":                  {[]func(*Cache){list, failWatch, (*Cache).Watching, failWatch}, 0, resumeShort},
		"the list after the failure was read":                  {[]func(*Cache){list, fail, (*Cache).Listing, (*Cache).Watching, list}, 2, resume},
		"the Reflector lists though nothing has failed":        {[]func(*Cache){list, (*Cache).Listing}, 0, relist},
		"that list was accepted":                               {[]func(*Cache){list, (*Cache).Listing, (*Cache).Watching}, 0, relist},
		"that list was read":                                   {[]func(*Cache){list, (*Cache).Listing, (*Cache).Watching, list}, 2, resume},
		"it may be listed, but not watched":                    {[]func(*Cache){forbid, list}, 0, resume},
		"a watch is permitted again, and the list is from now": {[]func(*Cache){forbid, list, (*Cache).Watching}, 2, resume},
		"something could not be taken":                         {[]func(*Cache){list, (*Cache).markBroken, (*Cache).Watching, bookmark}, 0, relist},
	} {
		t.Run(why, func(t *testing.T) {
			c := newRecorder(t, Want{Resource: configMaps, Role: Child}).Cache
			for _, step := range row.steps {
				step(c)
			}
			if got, next := c.Since(), c.resumption(); got != row.want || next != row.next {
				t.Errorf("current since %d, and the next watch is %d; want %d and %d", got, next, row.want, row.next)
			}
		})
	}
}

// apiServer serves ConfigMaps to a real Reflector, with lists and watches.
type apiServer struct {
	mu      sync.Mutex
	objects map[string]string // by name, the resource version
	refuse  bool              // whether all requests fail
	code    int               // status code of failed requests
	end     chan struct{}     // closed to end the running watches
	data    chan struct{}     // until it is closed, responses start but contain no data
	bare    bool              // whether there are no bookmarks, as with some aggregated API servers
	lists   int               // number of completed lists
}

func newAPIServer() *apiServer {
	s := &apiServer{objects: map[string]string{"a": "5"}, code: http.StatusInternalServerError, end: make(chan struct{}), data: make(chan struct{})}
	close(s.data)
	return s
}

// read returns a synced cache that a Reflector feeds from the server, and a function that stops the Reflector.
func (s *apiServer) read(t *testing.T, wrap func(*kube.Client) Client) (cache *Cache, stop func()) {
	t.Helper()
	web := httptest.NewServer(s)
	client, err := kube.NewClient(&rest.Config{Host: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	m := NewManager(ctx, func(string) Client { return wrap(client) }, &listener{})
	want := Want{Resource: configMaps, Role: Child}
	caches, err := m.Set("one", []Want{want})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cache is current", func() bool { return caches[want].Since() != 0 })
	return caches[want], func() {
		cancel()
		m.Wait()
		web.Close()
	}
}

// lapse ends all watches, rejects all requests from now on, and changes objects.
func (s *apiServer) lapse(objects map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse, s.objects = true, objects
	s.endWatches()
}

// endWatches ends the running watches. The lock must be held.
func (s *apiServer) endWatches() {
	close(s.end)
	s.end = make(chan struct{})
}

// closeWatches is endWatches with locking.
func (s *apiServer) closeWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endWatches()
}

// accept accepts requests again, but sends no data until deliver is called.
func (s *apiServer) accept() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse, s.data = false, make(chan struct{})
}

func (s *apiServer) deliver() { close(s.data) }

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	refuse, code, end, data := s.refuse, s.code, s.end, s.data
	s.mu.Unlock()
	if refuse {
		http.Error(w, "", code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	select {
	case <-data:
	case <-end:
		return
	case <-r.Context().Done():
		return
	}
	query := r.URL.Query()
	switch {
	case query.Get("watch") == "":
		s.write(w, map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": "9"}, "items": s.items()})
		return
	case query.Get("sendInitialEvents") == "true":
		items := s.items()
		for _, o := range items {
			s.write(w, map[string]any{"type": "ADDED", "object": o})
		}
		s.bookmark(w, map[string]any{metav1.InitialEventsAnnotationKey: "true"})
		s.write(w, map[string]any{"type": "MODIFIED", "object": items[0]}) // without an event, a Reflector relists after a short watch
	case query.Get("timeoutSeconds") < "9" && !s.bare: // like the API server shortly before the end of a watch
		s.bookmark(w, nil)
	}
	select {
	case <-end:
	case <-r.Context().Done():
	}
}

func (s *apiServer) bookmark(w http.ResponseWriter, annotations map[string]any) {
	s.write(w, map[string]any{"type": "BOOKMARK", "object": map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"resourceVersion": "9", "annotations": annotations},
	}})
}

func (s *apiServer) items() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	items := []any{}
	for name, version := range s.objects {
		items = append(items, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"namespace": "ns", "name": name, "uid": "u-" + name, "resourceVersion": version},
		})
	}
	return items
}

func (s *apiServer) write(w http.ResponseWriter, content any) {
	if err := json.NewEncoder(w).Encode(content); err != nil {
		return // the client is gone
	}
	w.(http.Flusher).Flush()
}

// lister is a kube.Client that does not support watch-lists.
type lister struct{ *kube.Client }

func (lister) IsWatchListSemanticsUnSupported() bool { return true }

// TestCacheIsNotCurrentUntilReadAgain uses a real Reflector. Its server fails, then responds with 200, and sends the data later.
func TestCacheIsNotCurrentUntilReadAgain(t *testing.T) {
	for how, wrap := range map[string]func(*kube.Client) Client{
		"by a list":       func(c *kube.Client) Client { return lister{c} },
		"by a watch-list": func(c *kube.Client) Client { return c },
	} {
		t.Run(how, func(t *testing.T) {
			server := newAPIServer()
			cache, stop := server.read(t, wrap)
			defer stop()
			before := cache.Since()

			server.lapse(map[string]string{"b": "7"})
			eventually(t, "the failure is known", func() bool { return cache.Err() != nil && cache.Since() == 0 })
			server.accept()
			if how == "by a watch-list" { // Client.List only returns when the data has arrived
				eventually(t, "the 200 has come", func() bool { return errors.Is(cache.Err(), ErrBehind) })
			}
			if got := names(cache); cache.Since() != 0 || cmp.Diff([]string{"a"}, got) != "" {
				t.Errorf("before the data has come: current since %d, with %v; want 0, with the object from before", cache.Since(), got)
			}
			server.deliver()
			eventually(t, "the cache is current again", func() bool { return cache.Since() != 0 })
			if got := names(cache); cache.Since() <= before || cmp.Diff([]string{"b"}, got) != "" {
				t.Errorf("after it: current since %d, with %v; want later than %d, with the object of now", cache.Since(), got, before)
			}
		})
	}
}

// TestResumedWatchIsCurrentAfterBookmark rejects a watch with 429, so that the Reflector resumes it without a list.
func TestResumedWatchIsCurrentAfterBookmark(t *testing.T) {
	for why, row := range map[string]struct {
		bare  bool
		lists int
	}{
		"the server sends bookmarks":              {false, 1},
		"one that sends none is asked for a list": {true, 2},
	} {
		t.Run(why, func(t *testing.T) {
			server := newAPIServer()
			server.bare, server.code = row.bare, http.StatusTooManyRequests
			cache, stop := server.read(t, func(c *kube.Client) Client { return c })
			defer stop()
			server.lapse(server.objects)
			eventually(t, "the failure is known", func() bool { return cache.Err() != nil && cache.Since() == 0 })
			server.accept()
			eventually(t, "the 200 has come", func() bool { return errors.Is(cache.Err(), ErrBehind) })
			if got := cache.Since(); got != 0 {
				t.Errorf("before a bookmark: current since %d, want 0", got)
			}
			server.deliver()
			if row.bare {
				server.closeWatches()
			}
			eventually(t, "the cache is current again", func() bool { return cache.Since() != 0 })
			server.mu.Lock()
			defer server.mu.Unlock()
			if server.lists != row.lists {
				t.Errorf("%d lists, want %d", server.lists, row.lists)
			}
		})
	}
}

// held is a kube.Client whose watch requests wait while the lock is held, like with a slow server.
type held struct {
	*kube.Client
	lock *sync.Mutex
}

func (h held) Watch(ctx context.Context, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) (apiwatch.Interface, error) {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.Client.Watch(ctx, resource, namespace, o)
}

// TestCacheIsNotCurrentWithoutRunningWatch ends a watch, as happens every few minutes, and delays the next watch request.
func TestCacheIsNotCurrentWithoutRunningWatch(t *testing.T) {
	server, lock := newAPIServer(), &sync.Mutex{}
	cache, stop := server.read(t, func(c *kube.Client) Client { return held{c, lock} })
	defer stop()
	before := cache.Since()
	lock.Lock()
	release := sync.OnceFunc(lock.Unlock)
	defer release()
	server.closeWatches()
	eventually(t, "it is noticed that no watch runs", func() bool { return cache.Since() == 0 })
	if !cache.Readable() || cache.Err() != nil || cache.Failures() != 0 {
		t.Errorf("readable: %v, error %v, %d failures; want no failure", cache.Readable(), cache.Err(), cache.Failures())
	}
	release()
	eventually(t, "the cache is current again", func() bool { return cache.Since() != 0 })
	if got := cache.Since(); got <= before || cache.Failures() != 0 {
		t.Errorf("current since %d, with %d failures; want later than %d, and none", got, cache.Failures(), before)
	}
}

func names(c *Cache) []string {
	var out []string
	c.Each(func(o *object.Object) bool {
		out = append(out, strings.Clone(o.Name()))
		return true
	})
	return out
}
