package watch

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestRevokedPermissionEndsWatch has an API server that does not end a running watch.
func TestRevokedPermissionEndsWatch(t *testing.T) {
	for why, row := range map[string]struct {
		role     Role
		withdraw func(*client)
		want     bool // whether the watch becomes forbidden
	}{
		"of related objects":                    {Related, func(c *client) { c.revoked = true }, true},
		"of Namespaces":                         {Namespace, func(c *client) { c.revoked = true }, true},
		"and that to ask for permissions":       {Related, func(c *client) { c.revoked, c.mute = true, true }, true},
		"only that to ask: the watch continues": {Related, func(c *client) { c.mute = true }, false},
	} {
		t.Run(why, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			ctx, cancel := context.WithCancel(t.Context())
			server := newClient(child("a", "1", 1))
			m := NewManager(ctx, sameClient(server), &listener{})
			m.recheck = time.Millisecond
			want := Want{Resource: configMaps, Role: row.role, As: "them"}
			caches, err := m.Set("one", []Want{want})
			if err != nil {
				t.Fatal(err)
			}
			cache := caches[want]
			eventually(t, "the cache is current", func() bool { return cache.Since() != 0 })
			server.mu.Lock()
			asked, watches := server.reviews, server.watches
			server.mu.Unlock()
			eventually(t, "the permission is checked some times", func() bool {
				server.mu.Lock()
				defer server.mu.Unlock()
				return server.reviews > asked+3
			})
			server.mu.Lock()
			if server.watches > max(watches, 1) {
				t.Errorf("%d watches though the first one is permitted", server.watches)
			}
			row.withdraw(server)
			before, asked := server.watches, server.reviews
			server.mu.Unlock()
			if row.want {
				eventually(t, "the cache is forbidden", func() bool { return apierrors.IsForbidden(cache.Err()) && cache.Since() == 0 })
			} else {
				eventually(t, "the permission is checked some times", func() bool {
					server.mu.Lock()
					defer server.mu.Unlock()
					if server.watches > before || server.watch.IsStopped() {
						t.Fatal("a permitted watch has ended")
					}
					return server.reviews > asked+3
				})
			}
			cancel()
			m.Wait()
		})
	}
}

func TestChildAndParentPermissionsAreNotRechecked(t *testing.T) {
	for why, role := range map[string]Role{"children": Child, "parents": Parent} {
		t.Run(why, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			server := newClient()
			m := NewManager(ctx, func(string) Client { return server }, &listener{})
			m.recheck = time.Nanosecond
			caches, err := m.Set("one", []Want{{Resource: configMaps, Role: role}})
			if err != nil {
				t.Fatal(err)
			}
			for _, cache := range caches {
				eventually(t, "the cache is current", func() bool { return cache.Since() != 0 })
			}
			related := Want{Resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Role: Related}
			other := newClient()
			m.clients = func(string) Client { return other }
			if _, err := m.Set("two", []Want{related}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the permission of another watch is checked", func() bool {
				other.mu.Lock()
				defer other.mu.Unlock()
				return other.reviews > 3
			})
			cancel()
			m.Wait()
			if server.reviews > 0 {
				t.Errorf("%d requests for a permission, want none", server.reviews)
			}
		})
	}
}
