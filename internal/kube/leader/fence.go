package leader

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// ErrFenced says that a write was not sent, because this replica does not hold the lease.
var ErrFenced = errors.New("not sent: this replica does not hold the lease, so another one may be active")

// Fence lets writes through for some time after each renewal of the lease, and refuses
// them otherwise, at first and for good once it is shut. It is safe for concurrent use.
type Fence struct {
	limit   time.Duration
	renewed atomic.Pointer[time.Time] // nil = closed
}

// NewFence returns a closed fence that a renewal opens for that long.
func NewFence(limit time.Duration) *Fence { return &Fence{limit: limit} }

// Renew opens the fence; at is when the request was made that renewed the lease, which is
// before anybody else can have seen the renewal.
func (f *Fence) Renew(at time.Time) { f.renewed.Store(&at) }

// Shut closes the fence.
func (f *Fence) Shut() { f.renewed.Store(nil) }

// Open reports whether writes are let through.
func (f *Fence) Open() bool { return f.within(f.limit) }

// within reports whether the last renewal is no longer ago than that.
func (f *Fence) within(limit time.Duration) bool {
	renewed := f.renewed.Load()
	return renewed != nil && elapsed(*renewed, time.Now()) <= limit
}

// elapsed is the time between two readings of the clock: the longer one where the
// monotonic clock and the wall clock disagree. The former may stand still while the machine
// sleeps, the latter may be set back.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// Guard returns a copy of config whose clients make no write but through the fence.
func (f *Fence) Guard(config *rest.Config) *rest.Config {
	guarded := rest.CopyConfig(config)
	guarded.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{f, next} })
	return guarded
}

// transport refuses what the fence does not let through.
type transport struct {
	fence *Fence
	next  http.RoundTripper
}

// RoundTrip makes the request, or returns ErrFenced.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if writes(r) && !t.fence.Open() {
		if r.Body != nil {
			_ = r.Body.Close() // as the interface demands; nothing was read, so nothing is lost
		}
		return nil, ErrFenced
	}
	return t.next.RoundTrip(r)
}

// WrappedRoundTripper returns what makes the requests, for client-go to find.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// writes reports whether a request changes something. A question about rights is a POST, but
// changes nothing.
func writes(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return !strings.Contains(r.URL.Path, "/apis/authorization.k8s.io/")
}
