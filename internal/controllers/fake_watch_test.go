package controllers

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/watch"
)

// change is one write to the cluster, as watches bring it.
type change struct {
	at            kube.Location
	before, after *unstructured.Unstructured // nil where there is none
	version       int
}

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
	var list []any
	for at, o := range c.objects {
		if at.Resource == want.Resource && matches(want, o) {
			list = append(list, packed(c.t, o))
		}
	}
	c.brought[want] = len(c.log)
	if err := c.caches[want].Replace(list, strconv.Itoa(c.version)); err != nil {
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

// matches reports whether the watch of a want brings an object.
func matches(want watch.Want, o *unstructured.Unstructured) bool {
	return o != nil && (want.Namespace == "" || want.Namespace == o.GetNamespace()) && selected(o, want.Labels, want.Fields)
}

// deliver has the watches bring everything that is new, one change after the other: those that
// templater has made itself, too.
func (c *cluster) deliver() {
	for want, cache := range c.caches {
		if c.silent[want] {
			continue
		}
		for _, each := range c.log[c.brought[want]:] {
			if each.at.Resource == want.Resource {
				c.bring(want, cache, each)
			}
		}
		c.brought[want] = len(c.log)
	}
}

func (c *cluster) bring(want watch.Want, cache *watch.Cache, each change) {
	c.t.Helper()
	var err error
	switch {
	case matches(want, each.after):
		err = cache.Update(packed(c.t, each.after))
	case matches(want, each.before):
		gone := each.before.DeepCopy()
		gone.SetResourceVersion(strconv.Itoa(each.version))
		err = cache.Delete(packed(c.t, gone))
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// resumed ends a failure of a cache as a watch does that is resumed: the server accepts it, and sends a bookmark after what was missed.
func resumed(t testing.TB, cache *watch.Cache) {
	t.Helper()
	cache.Watching()
	if err := cache.Bookmark("0"); err != nil {
		t.Fatal(err)
	}
}
