package queue

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/kube/request"
)

func TestResponseResetsBusySince(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client, err := kube.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakePassiveClock(start)
	d := NewWorkerTracker(clock, NewProcessors(1, NewTenants()), nil)
	ctx := d.Join(t.Context())
	WorkerOf(ctx).Begin(Key{Controller: "apps"})
	clock.SetTime(start.Add(time.Minute))
	if got := d.Busy()[0].Since; !got.Equal(start) {
		t.Errorf("since %v, want the begin", got)
	}
	if _, err := client.Get(ctx, request.Location{Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespace: "ns", Name: "a"}); err == nil {
		t.Error("there is an object")
	}
	if got := d.Busy()[0].Since; !got.Equal(start.Add(time.Minute)) {
		t.Errorf("since %v, want the time of the answer", got)
	}
	WorkerOf(ctx).End()
	if got := d.Busy(); len(got) > 0 {
		t.Errorf("busy after the end: %v", works(got))
	}
	WorkerOf(t.Context()).Begin(Key{}) // no worker in the context
	WorkerOf(t.Context()).End()
}

func TestRemovedWorkerIsCanceled(t *testing.T) {
	d := NewWorkerTracker(clocktesting.NewFakePassiveClock(time.Now()), nil, nil)
	ctx := d.Join(t.Context())
	d.leave(WorkerOf(ctx))
	if ctx.Err() == nil || len(d.all) > 0 {
		t.Errorf("%d workers are left, and the work goes on: %v", len(d.all), ctx.Err() == nil)
	}
}

func TestWaitingWorkersAreNotBusy(t *testing.T) {
	d := NewWorkerTracker(clocktesting.NewFakePassiveClock(time.Now()), nil, nil)
	own := WorkerOf(d.Join(t.Context()))
	for why, row := range map[string]struct {
		busy, waiting, queued bool
		want                  []string
	}{
		"nothing is under way":     {want: []string{}},
		"it waits for others":      {busy: true, waiting: true, want: []string{}},
		"it waits for a processor": {busy: true, queued: true, want: []string{}},
		"it works":                 {busy: true, want: []string{"sync of TemplateController a"}},
	} {
		own.busy, own.waiting, own.queued, own.work = row.busy, row.waiting, row.queued, Work{Key: Key{Controller: "a"}}
		if got := works(d.Busy()); !slices.Equal(got, row.want) {
			t.Errorf("%s: busy are %q, want %q", why, got, row.want)
		}
	}
}

func TestPausesRequireTrackedWorker(t *testing.T) {
	if WorkerOf(t.Context()).Pauses() != nil {
		t.Error("where nobody else works, there are pauses")
	}
	clock := clocktesting.NewFakePassiveClock(time.Now())
	d := NewWorkerTracker(clock, NewProcessors(1, NewTenants()), nil)
	own := WorkerOf(d.Join(t.Context()))
	pause := own.Pauses()
	if err := pause(); err != nil {
		t.Errorf("the work is to end: %v", err)
	}
	if d.leave(own); pause() == nil {
		t.Error("nobody is told that the work is to end")
	}
}

// TestWorkOutsidePoolSharesProcessors: one tenant computes endlessly. Others begin in its pauses. Work that has ended
// does not wait for a processor.
func TestWorkOutsidePoolSharesProcessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		processors := NewProcessors(1, NewTenants())
		compilation, reviews := NewWorkerTracker(clock.RealClock{}, processors, nil), NewWorkerTracker(clock.RealClock{}, processors, nil)
		compiling, end := compilation.Begin(t.Context(), Key{Controller: "apps"})
		began := false
		go func() {
			_, end := reviews.Begin(t.Context(), Key{Controller: "reviews"})
			began = true
			end()
		}()
		synctest.Wait()
		if began {
			t.Error("a review has a processor that compilation has")
		}
		if err := WorkerOf(compiling).Pauses()(); err != nil {
			t.Error(err)
		}
		if !began {
			t.Error("a review has not begun in a pause of compilation")
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, endLate := reviews.Begin(ended, Key{Controller: "reviews"})
		endLate()
		end()
		processors.slots.expectIdle(t)
		if n := compilation.Workers() + reviews.Workers(); n != 0 {
			t.Errorf("%d workers are left", n)
		}
	})
}

func TestWithoutWorkerDropsObserver(t *testing.T) {
	ctx := NewWorkerTracker(clock.RealClock{}, NewProcessors(1, NewTenants()), nil).Join(t.Context())
	if _, observed := request.ObserverOf(ctx); !observed || WorkerOf(ctx) == nil {
		t.Fatal("the context of a worker has no worker, or no observer")
	}
	ctx = WithoutWorker(ctx)
	if _, observed := request.ObserverOf(ctx); observed || WorkerOf(ctx) != nil {
		t.Error("the context still has the worker, or its observer")
	}
}
