package watch

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"

	"github.com/templater-dev/templater/internal/kube/request"
)

const (
	// refusedPerSecond and refusedBurst limit the retries of all watches of one tenant whose requests were rejected.
	refusedPerSecond, refusedBurst = 20, 40
	// maxInFlight limits how many requests of the watches of one tenant may wait for a response. An HTTP client opens a
	// connection for each request that finds no free one, so a thousand concurrent requests would open a thousand connections.
	maxInFlight = 16
	// inFlightTimeout is how long a request without a response counts towards maxInFlight. By then, its connection is open.
	inFlightTimeout = 2 * time.Second
)

// pace limits the requests of the watches of one tenant, so that many watches do not slow down the server for others. It is safe
// for concurrent use.
type pace struct {
	retries  flowcontrol.RateLimiter
	inFlight chan struct{}
	watches  int // number of watches of the tenant; protected by the lock of the Manager
}

// begin waits until a watch may send its next request. answered must be called when the response has arrived. It returns the
// error of ctx if ctx is done.
func (p *pace) begin(ctx context.Context, cache *Cache) (answered func(), err error) {
	if rejected(cache.Err()) {
		if err := p.retries.Wait(ctx); err != nil {
			return nil, err
		}
	}
	select {
	case p.inFlight <- struct{}{}:
	default: // without waiting, the request is sent even if ctx is done, and fails
		select {
		case p.inFlight <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	leave := sync.OnceFunc(func() { <-p.inFlight })
	timer := time.AfterFunc(inFlightTimeout, leave)
	return func() {
		timer.Stop()
		leave()
	}, nil
}

// rejected reports whether the server has permanently rejected a request. That is not the case if it is overloaded, or if the
// watch only needs to relist.
func rejected(err error) bool {
	switch code := request.Code(err); code {
	case http.StatusGone, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// ownTenant is the tenant of the operator's own watches.
const ownTenant = "operator"

// tenant returns the tenant whose limits apply to the requests: the service accounts of one namespace share a tenant, and the
// operator's own watches are a separate one.
func (w Want) tenant() string {
	switch w.Role {
	case Definition, Controller, Seal, Webhook:
		return ownTenant
	case Parent, Child, Related, Namespace:
	}
	return w.As[:max(0, strings.LastIndexByte(w.As, ':'))]
}

// join returns the pace of a tenant, and counts one more watch. The lock must be held.
func (m *Manager) join(tenant string) *pace {
	p := m.paces[tenant]
	if p == nil {
		p = &pace{retries: flowcontrol.NewTokenBucketRateLimiter(refusedPerSecond, refusedBurst), inFlight: make(chan struct{}, maxInFlight)}
		m.paces[tenant] = p
	}
	p.watches++
	return p
}

// leave undoes join. The lock must be held.
func (m *Manager) leave(tenant string) {
	if p := m.paces[tenant]; p.watches > 1 {
		p.watches--
		return
	}
	delete(m.paces, tenant)
}
