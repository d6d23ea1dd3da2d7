package leader

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// answering is a server that responds to all requests.
type answering struct{ requests int }

func (a *answering) RoundTrip(*http.Request) (*http.Response, error) {
	a.requests++
	return nil, nil
}

type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

func TestClosedFenceRejectsOnlyWrites(t *testing.T) {
	closed, open := NewFence(time.Minute), NewFence(time.Minute)
	open.Renew(time.Now())
	shut := NewFence(time.Minute)
	shut.Renew(time.Now())
	shut.Shut()
	late := NewFence(time.Minute)
	late.Renew(time.Now().Add(-61 * time.Second))
	for why, c := range map[string]struct {
		fence        *Fence
		method, path string
		sent         bool
	}{
		"a read":                           {closed, http.MethodGet, "/api/v1/pods", true},
		"a write before the lease is held": {closed, http.MethodPatch, "/api/v1/pods/a", false},
		"a write while it is":              {open, http.MethodPatch, "/api/v1/pods/a", true},
		"a write when it is released":      {shut, http.MethodDelete, "/api/v1/pods/a", false},
		"a write when it may have run out": {late, http.MethodPost, "/api/v1/pods", false},
		"a read when it may have run out":  {late, http.MethodGet, "/api/v1/pods", true},
		"a question about rights":          {closed, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", true},
	} {
		next, sent := &answering{}, &body{Reader: strings.NewReader("x")}
		_, err := (&transport{c.fence, next}).RoundTrip(httptest.NewRequest(c.method, c.path, sent)) //nolint:bodyclose // there is no response body
		if c.sent != (next.requests == 1) || c.sent != (err == nil) {
			t.Errorf("%s: %d requests, error %v", why, next.requests, err)
		}
		if !c.sent && (!errors.Is(err, ErrFenced) || !sent.closed) {
			t.Errorf("%s: error %v, body closed: %v", why, err, sent.closed)
		}
	}
}

func TestFenceClosesAfterLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFence(fenceLimit)
		start := time.Now()
		for _, frozen := range []time.Duration{fenceLimit, time.Nanosecond} { // nothing runs in between
			if start.Equal(time.Now()) {
				f.Renew(start)
			}
			<-time.After(frozen)
			if want := frozen == fenceLimit; f.Open() != want {
				t.Errorf("%s after the renewal: open is %v", time.Since(start), f.Open())
			}
		}
	})
}

func TestElapsedUsesLaterClock(t *testing.T) {
	now := time.Now() // has a monotonic and a wall clock reading
	for why, c := range map[string]struct {
		from, to time.Time
		want     time.Duration
	}{
		"both agree":                           {now, now.Add(time.Second), time.Second},
		"only the wall clock is known":         {now.Round(0), now.Round(0).Add(time.Minute), time.Minute},
		"set back, but the other one knows":    {now, now.Add(time.Hour), time.Hour},
		"set back, and the other one is lost":  {now.Round(0), now.Round(0).Add(-time.Hour), -time.Hour},
		"time goes by on the wall clock alone": {now.Round(0), now.Add(time.Hour), time.Hour},
	} {
		if got := elapsed(c.from, c.to); got != c.want {
			t.Errorf("%s: got %s, want %s", why, got, c.want)
		}
	}
}

func TestFenceAllocatesNothing(t *testing.T) {
	f := NewFence(time.Hour)
	f.Renew(time.Now())
	guarded, r := &transport{f, &answering{}}, httptest.NewRequest(http.MethodPatch, "/api/v1/pods/a", nil)
	if n := testing.AllocsPerRun(100, func() { _, _ = guarded.RoundTrip(r) }); n != 0 { //nolint:bodyclose // there is no response body
		t.Errorf("%v allocations for each request, want none", n)
	}
}

func TestGuardDoesNotModifyConfig(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	guarded := NewFence(time.Minute).Guard(config)
	for _, c := range []struct {
		config *rest.Config
		want   error
	}{{config, nil}, {guarded, ErrFenced}} {
		client, err := rest.HTTPClientFor(c.config)
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if !errors.Is(err, c.want) {
			t.Errorf("got %v, want %v", err, c.want)
		}
		if err == nil {
			_ = response.Body.Close()
		}
	}
}
