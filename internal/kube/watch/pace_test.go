package watch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

// paced is a Manager with watches of several service accounts.
type paced struct {
	*Manager
	t *testing.T
}

// watchesOf returns n watches as the user. They send requests only when a test does.
func (p *paced) watchesOf(as string, n int) (all []toolscache.ListerWatcherWithContext) {
	for i := range n {
		want := Want{Resource: configMaps, Namespace: fmt.Sprint(i), As: as}
		all = append(all, toolscache.ToListerWatcherWithContext(p.requests(want, newRecorder(p.t, want).Cache, p.join(want.tenant())).listerWatcher()))
	}
	return all
}

// list lists with all watches concurrently, and returns when all of them are blocked or done.
func list(ctx context.Context, all []toolscache.ListerWatcherWithContext) {
	for _, lw := range all {
		go func() { _, _ = lw.ListWithContext(ctx, metav1.ListOptions{}) }()
	}
	synctest.Wait()
}

// TestRejectedWatchesRetryAtLimitedRate has many watches of service accounts in one namespace that are rejected repeatedly.
func TestRejectedWatchesRetryAtLimitedRate(t *testing.T) {
	for why, refusal := range map[string]error{
		"a permission is missing":           apierrors.NewForbidden(configMaps.GroupResource(), "", nil),
		"the kind cannot be listed":         apierrors.NewMethodNotSupported(configMaps.GroupResource(), "list"),
		"the field cannot be selected by":   apierrors.NewBadRequest("field label not supported"),
		"the server does not have the kind": apierrors.NewNotFound(configMaps.GroupResource(), ""),
	} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clients := map[string]*answering{"system:serviceaccount:a:1": {err: refusal}, "system:serviceaccount:a:2": {err: refusal}, "system:serviceaccount:b:1": {err: refusal}}
				p := &paced{NewManager(t.Context(), func(as string) Client { return clients[as] }, &listener{}), t}
				const watches = 500
				many := append(p.watchesOf("system:serviceaccount:a:1", watches/2), p.watchesOf("system:serviceaccount:a:2", watches/2)...)
				few := p.watchesOf("system:serviceaccount:b:1", 1)
				expect := func(when string, want int, as ...string) {
					t.Helper()
					got := 0
					for _, one := range as {
						got += clients[one].requests()
					}
					if got != want {
						t.Errorf("%s: %d requests, want %d", when, got, want)
					}
				}
				tenant := []string{"system:serviceaccount:a:1", "system:serviceaccount:a:2"}
				ctx, cancel := context.WithCancel(t.Context())
				list(ctx, many)
				expect("each is tried once", watches, tenant...)
				list(ctx, many)
				expect("again at once", refusedBurst, tenant...)
				list(ctx, few)
				list(ctx, few)
				expect("the account of another namespace", 2, "system:serviceaccount:b:1")
				<-time.After(time.Second + time.Millisecond)
				synctest.Wait()
				expect("a second later", refusedPerSecond, tenant...)
				<-time.After(time.Minute)
				synctest.Wait()
				expect("all have had their turn", watches-refusedBurst-refusedPerSecond, tenant...)
				list(ctx, many)
				clients["system:serviceaccount:a:1"].requests()
				clients["system:serviceaccount:a:2"].requests()
				cancel()
				synctest.Wait()
				expect("those that nobody wants do not wait", 0, tenant...)
				for range watches {
					p.leave("system:serviceaccount:a")
				}
				if p.leave("system:serviceaccount:b"); len(p.paces) > 0 {
					t.Errorf("left are %v", p.paces)
				}
			})
		})
	}
}

// TestTransientWatchErrorsAreNotDelayed has watches that fail for transient reasons.
func TestTransientWatchErrorsAreNotDelayed(t *testing.T) {
	for why, err := range map[string]error{
		"the server is busy":         apierrors.NewTooManyRequests("later", 1),
		"the server has a fault":     apierrors.NewInternalError(errNow),
		"the server does not answer": errNow,
		"it has to list again":       errRelist,
		"nothing has failed":         nil,
	} {
		if rejected(err) {
			t.Errorf("%s: it counts as refused", why)
		}
	}
}

// TestUnansweredWatchesPerTenantAreLimited has a slow server.
func TestUnansweredWatchesPerTenantAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quick, slow := &answering{after: time.Second}, &answering{after: time.Hour}
		clients := map[string]*answering{"system:serviceaccount:a:1": quick, "system:serviceaccount:b:1": slow, "system:serviceaccount:c:1": {}, "": {}}
		p := &paced{NewManager(t.Context(), func(as string) Client { return clients[as] }, &listener{}), t}
		for as, client := range map[string]*answering{"system:serviceaccount:a:1": quick, "system:serviceaccount:b:1": slow} {
			list(t.Context(), p.watchesOf(as, 5*maxInFlight))
			if got := client.requests(); got != maxInFlight {
				t.Errorf("%d requests at once, want %d", got, maxInFlight)
			}
		}
		list(t.Context(), p.watchesOf("system:serviceaccount:c:1", 1))
		if got := clients["system:serviceaccount:c:1"].requests(); got != 1 {
			t.Errorf("another tenant has made %d requests, want 1", got)
		}
		<-time.After(time.Second)
		synctest.Wait()
		if got := quick.requests(); got != maxInFlight {
			t.Errorf("%d requests after the first answers, want %d", got, maxInFlight)
		}
		<-time.After(inFlightTimeout - time.Second)
		synctest.Wait()
		if got := slow.requests(); got != maxInFlight {
			t.Errorf("%d requests where the server hangs, want %d", got, maxInFlight)
		}
		<-time.After(2 * time.Hour)
	})
}

func TestTenantOfWatch(t *testing.T) {
	for want, tenant := range map[Want]string{
		{Role: Parent, As: "system:serviceaccount:team:deployer"}:  "system:serviceaccount:team",
		{Role: Related, As: "system:serviceaccount:team:reader"}:   "system:serviceaccount:team",
		{Role: Child, As: "system:serviceaccount:team-b:deployer"}: "system:serviceaccount:team-b",
		{Role: Namespace}:  "",
		{Role: Definition}: ownTenant,
		{Role: Controller}: ownTenant,
		{Role: Seal}:       ownTenant,
		{Role: Webhook}:    ownTenant,
	} {
		if got := want.tenant(); got != tenant {
			t.Errorf("role %d as %q: %q, want %q", want.Role, want.As, got, tenant)
		}
	}
}

// TestCanceledRequestIsNotReportedAsFailure cancels watches while they wait for the rate limit.
func TestCanceledRequestIsNotReportedAsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &answering{after: time.Second}
		p := &paced{NewManager(t.Context(), func(string) Client { return client }, &listener{}), t}
		list(t.Context(), p.watchesOf("system:serviceaccount:a:1", maxInFlight))
		want := Want{Resource: configMaps, As: "system:serviceaccount:a:1"}
		cache := newRecorder(t, want).Cache
		last := toolscache.ToListerWatcherWithContext(p.requests(want, cache, p.join(want.tenant())).listerWatcher())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for what, err := range map[string]error{
			"a list":  second(last.ListWithContext(ctx, metav1.ListOptions{})),
			"a watch": second(last.WatchWithContext(ctx, metav1.ListOptions{})),
		} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, want that it is cancelled", what, err)
			}
		}
		if got := client.requests(); got != maxInFlight || cache.Err() != nil {
			t.Errorf("%d requests, want %d; the cache says %v", got, maxInFlight, cache.Err())
		}
		<-time.After(time.Second)
	})
}

func second[T any](_ T, err error) error { return err }
