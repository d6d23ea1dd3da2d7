package reconciletest

import (
	"maps"
	"slices"
	"testing"

	"github.com/templater-dev/templater/internal/kube/watch"
)

// Watches fills caches from a Server when a test calls Deliver. It implements the watches that controllers set.
type Watches struct {
	Listener Listener
	Caches   map[watch.Want]*watch.Cache
	Owned    map[string][]watch.Want        // by owner
	Silent   map[watch.Want]bool            // watches that deliver nothing
	Prepare  func(watch.Want, *watch.Cache) // called with each new cache; may be nil

	server  *Server
	brought map[watch.Want]int // number of writes that the cache has received
}

// Listener receives the events of a cache.
type Listener interface {
	Changed(watch.Want, watch.Event)
	StateChanged(watch.Want)
}

// Reset removes all caches.
func (w *Watches) Reset() {
	w.Caches, w.Owned, w.brought = map[watch.Want]*watch.Cache{}, map[string][]watch.Want{}, map[watch.Want]int{}
}

// Set sets the watches of an owner, and returns their caches.
func (w *Watches) Set(owner string, wants []watch.Want) (map[watch.Want]*watch.Cache, error) {
	out := map[watch.Want]*watch.Cache{}
	for _, want := range wants {
		if w.Caches[want] == nil {
			cache, err := watch.NewCache(want, func(e watch.Event) { w.Listener.Changed(want, e) }, func() { w.Listener.StateChanged(want) })
			if err != nil {
				return nil, err
			}
			if w.Prepare != nil {
				w.Prepare(want, cache)
			}
			w.Caches[want] = cache
		}
		out[want] = w.Caches[want]
	}
	w.Owned[owner] = wants
	for _, want := range wants {
		if !w.Caches[want].Synced() && !w.Silent[want] {
			w.List(want)
		}
	}
	return out, nil
}

// List fills a cache with its initial list.
func (w *Watches) List(want watch.Want) {
	var err error
	if w.brought[want], err = w.server.Fill(want, w.Caches[want]); err != nil {
		w.server.T.Fatal(err)
	}
}

// Owners returns the owners of a watch.
func (w *Watches) Owners(want watch.Want) []string {
	var out []string
	for _, owner := range slices.Sorted(maps.Keys(w.Owned)) {
		if slices.Contains(w.Owned[owner], want) {
			out = append(out, owner)
		}
	}
	return out
}

// Deliver delivers all pending writes to the caches in order, including those of the operator.
func (w *Watches) Deliver() {
	for want, cache := range w.Caches {
		if w.Silent[want] {
			continue
		}
		var err error
		if w.brought[want], err = w.server.DeliverChanges(want, cache, w.brought[want]); err != nil {
			w.server.T.Fatal(err)
		}
	}
}

// FailWatches makes all watches of a resource fail, except child watches. If err is nil, they resume.
func (w *Watches) FailWatches(resource string, err error) {
	for want, cache := range w.Caches {
		if want.Resource.Resource == resource && want.Role != watch.Child {
			if cache.Fail(err); err == nil {
				Resume(w.server.T, cache)
			}
		}
	}
}

// Resume ends the failure of a cache like a resumed watch: with a bookmark after the missed events.
func Resume(t testing.TB, cache *watch.Cache) {
	t.Helper()
	cache.Watching()
	if err := cache.Bookmark("0"); err != nil {
		t.Fatal(err)
	}
}
