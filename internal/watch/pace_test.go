package watch

import (
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

// TestRefusedWatchesAreTriedAgainAtAPace has many watches of one account be refused, again and again.
func TestRefusedWatchesAreTriedAgainAtAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := apierrors.NewForbidden(configMaps.GroupResource(), "", nil)
		clients := map[string]*answers{"a": {err: refusal}, "b": {err: refusal}}
		m := NewManager(t.Context(), func(as string) Client { return clients[as] }, &listener{})
		of := func(as string, n int) (all []toolscache.ListerWatcherWithContext) {
			for range n {
				want := Want{Resource: configMaps, As: as}
				all = append(all, toolscache.ToListerWatcherWithContext(m.requests(want, newRecorder(t, want).Cache, m.join(as)).listerWatcher()))
			}
			return all
		}
		const watches = 500
		many, few := of("a", watches), of("b", 1)
		list := func(all []toolscache.ListerWatcherWithContext) {
			for _, lw := range all {
				if _, err := lw.ListWithContext(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
					t.Fatalf("a list yields %v", err)
				}
			}
		}
		expect := func(when string, as string, want int) {
			t.Helper()
			if got := len(clients[as].asked); got != want {
				t.Errorf("%s: %d requests of %s, want %d", when, got, as, want)
			}
			clients[as].asked = nil
		}
		list(many)
		expect("each is tried once", "a", watches)
		list(many)
		expect("again at once", "a", refusedBurst)
		list(many)
		expect("and again", "a", 0)
		if _, err := many[0].WatchWithContext(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("a watch yields %v", err)
		}
		expect("by a watch", "a", 0)
		list(few)
		list(few)
		expect("another account", "b", 2)
		<-time.After(time.Second)
		list(many)
		expect("a second later", "a", refusedPerSecond)
		for range watches {
			m.leave("a")
		}
		if m.leave("b"); len(m.paces) > 0 {
			t.Errorf("left are %v", m.paces)
		}
	})
}
