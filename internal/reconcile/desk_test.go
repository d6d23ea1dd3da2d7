package reconcile

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func TestAnswersKeepAWorkerFromSeemingToHang(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client, err := kube.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakePassiveClock(start)
	d := newDesks(clock, newProcessors(clock, queue.NewTenants()))
	ctx := d.seat(t.Context())
	deskOf(ctx).begin(queue.Key{Controller: "apps"})
	clock.SetTime(start.Add(time.Minute))
	if got := d.busy()[0].Since; !got.Equal(start) {
		t.Errorf("since %v, want the begin", got)
	}
	if _, err := client.Get(ctx, configMap("a")); err == nil {
		t.Error("there is an object")
	}
	if got := d.busy()[0].Since; !got.Equal(start.Add(time.Minute)) {
		t.Errorf("since %v, want the time of the answer", got)
	}
	deskOf(ctx).end()
	if got := d.busy(); len(got) > 0 {
		t.Errorf("busy after the end: %v", works(got))
	}
	deskOf(t.Context()).begin(queue.Key{}) // no worker, no desk
	deskOf(t.Context()).end()
}

func TestNothingGoesOnAtADeskThatIsTakenAway(t *testing.T) {
	d := newDesks(clocktesting.NewFakePassiveClock(time.Now()), nil)
	ctx := d.seat(t.Context())
	d.leave(deskOf(ctx))
	if ctx.Err() == nil || len(d.all) > 0 {
		t.Errorf("%d desks are left, and the work goes on: %v", len(d.all), ctx.Err() == nil)
	}
}
