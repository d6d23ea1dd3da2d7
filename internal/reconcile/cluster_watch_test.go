package reconcile_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/templater-dev/templater/internal/kube/watch"
)

func (c *cluster) Set(owner string, wants []watch.Want) (map[watch.Want]*watch.Cache, error) {
	out := map[watch.Want]*watch.Cache{}
	for _, want := range wants {
		if c.caches[want] == nil {
			cache, err := watch.NewCache(want, func(e watch.Event) { c.controllers.Changed(want, e) }, func() { c.controllers.StateChanged(want) })
			if err != nil {
				return nil, err
			}
			c.caches[want] = cache
		}
		out[want] = c.caches[want]
	}
	c.owners[owner] = wants
	for _, want := range wants {
		if !c.caches[want].Synced() && !c.silent[want] {
			c.sync(want)
		}
	}
	return out, nil
}

// sync gives a cache its first list.
func (c *cluster) sync(want watch.Want) {
	var err error
	if c.brought[want], err = c.Fill(want, c.caches[want]); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) Owners(want watch.Want) []string {
	var out []string
	for _, owner := range slices.Sorted(maps.Keys(c.owners)) {
		if slices.Contains(c.owners[owner], want) {
			out = append(out, owner)
		}
	}
	return out
}

// deliver updates the caches with all writes, one after the other, also with own ones.
func (c *cluster) deliver() {
	for want, cache := range c.caches {
		if c.silent[want] {
			continue
		}
		var err error
		if c.brought[want], err = c.Bring(want, cache, c.brought[want]); err != nil {
			c.t.Fatal(err)
		}
	}
}

// resumed ends the failure of a cache as a resumed watch does: by a bookmark after the missed events.
func resumed(t testing.TB, cache *watch.Cache) {
	t.Helper()
	cache.Watching()
	if err := cache.Bookmark("0"); err != nil {
		t.Fatal(err)
	}
}
