package watch

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestRemovedVersionFailsCacheWithNotFound removes the resource, like an upgrade of the control plane. The 404 must be reported,
// because it triggers a refresh of discovery.
func TestRemovedVersionFailsCacheWithNotFound(t *testing.T) {
	for why, streams := range map[string]bool{"which lists": false, "which lists by watches": true} {
		t.Run(why, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			ctx, cancel := context.WithCancel(t.Context())
			server := newClient(child("a", "1", 1))
			server.streams = streams
			m := NewManager(ctx, sameClient(server), &listener{})
			want := Want{Resource: configMaps, Role: Child}
			caches, err := m.Set("one", []Want{want})
			if err != nil {
				t.Fatal(err)
			}
			cache := caches[want]
			eventually(t, "the cache is current", func() bool { return cache.Since() != 0 })
			server.mu.Lock()
			server.removed = true
			server.watch.Stop()
			server.mu.Unlock()
			eventually(t, "the cache fails with a 404", func() bool { return apierrors.IsNotFound(cache.Err()) && cache.Since() == 0 })
			if got := len(cache.Children("c", "p")); got != 1 {
				t.Errorf("the cache has %d children, want the one that it had: a 404 of a resource says nothing about objects", got)
			}
			cancel()
			m.Wait()
		})
	}
}
