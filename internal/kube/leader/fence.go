package leader

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// ErrFenced means that a write was not sent, because this replica does not hold the lease.
var ErrFenced = errors.New("not sent: this replica does not hold the lease, so another one may be active")

// Fence allows writes for a limited time after each lease renewal. It rejects them before the first renewal, when that time has
// passed, and after Shut. It is safe for concurrent use.
type Fence struct {
	limit   time.Duration
	renewed atomic.Pointer[time.Time] // nil = closed
}

// NewFence returns a closed fence that each renewal opens for limit. The operator uses fenceLimit in election.go.
func NewFence(limit time.Duration) *Fence { return &Fence{limit: limit} }

// Renew opens the fence. at is when the renewal request was sent, which is before any other replica can have observed the
// renewal.
func (f *Fence) Renew(at time.Time) { f.renewed.Store(&at) }

// Shut closes the fence until the next Renew.
func (f *Fence) Shut() { f.renewed.Store(nil) }

// Open reports whether writes are allowed.
func (f *Fence) Open() bool { return f.within(f.limit) }

// within reports whether the last renewal is at most limit ago.
func (f *Fence) within(limit time.Duration) bool {
	renewed := f.renewed.Load()
	return renewed != nil && elapsed(*renewed, time.Now()) <= limit
}

// elapsed returns the time between two clock readings: the longer one if monotonic clock and wall clock disagree. The monotonic
// clock may stop while the machine sleeps, the wall clock may be set back.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// Guard returns a copy of config whose clients send writes only while the fence is open.
func (f *Fence) Guard(config *rest.Config) *rest.Config {
	guarded := rest.CopyConfig(config)
	guarded.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{f, next} })
	return guarded
}

// transport rejects writes while the fence is closed.
type transport struct {
	fence *Fence
	next  http.RoundTripper
}

// RoundTrip sends the request, or returns ErrFenced.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if writes(r) && !t.fence.Open() {
		if r.Body != nil {
			_ = r.Body.Close() // required by http.RoundTripper, even on errors
		}
		return nil, ErrFenced
	}
	return t.next.RoundTrip(r)
}

// WrappedRoundTripper returns the wrapped transport, for client-go.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// writes reports whether a request changes something. Access reviews are POST requests, but change nothing.
func writes(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return !strings.Contains(r.URL.Path, "/apis/authorization.k8s.io/")
}
