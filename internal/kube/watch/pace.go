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
	// refusedPerSecond and refusedBurst limit the requests of all watches of one tenant together that the server has refused before.
	refusedPerSecond, refusedBurst = 20, 40
	// mostUnanswered is how many requests of the watches of one tenant may wait for an answer at a time. An HTTP client dials for each
	// request that finds no room on a connection, so that a thousand requests at once are a thousand dials.
	mostUnanswered = 16
	// unansweredTime is after how long without an answer a request makes room for another one: its connection is there by then.
	unansweredTime = 2 * time.Second
)

// pace is how fast the watches of one tenant make requests, so that many of them do not keep the server from others. It is safe for
// concurrent use.
type pace struct {
	retries    flowcontrol.RateLimiter
	unanswered chan struct{}
	watches    int // that are of the tenant; the lock of the Manager is held
}

// begin returns when a watch may make its next request. answered must be called when that has its answer. The error is that of ctx.
func (p *pace) begin(ctx context.Context, cache *Cache) (answered func(), err error) {
	if refused(cache.Err()) {
		if err := p.retries.Wait(ctx); err != nil {
			return nil, err
		}
	}
	select {
	case p.unanswered <- struct{}{}:
	default: // with room, a request is made also when ctx has ended, and hears of that
		select {
		case p.unanswered <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	leave := sync.OnceFunc(func() { <-p.unanswered })
	impatient := time.AfterFunc(unansweredTime, leave)
	return func() {
		impatient.Stop()
		leave()
	}, nil
}

// refused reports whether the server has refused a request in a way that lasts. It has not where it is busy, or where the watch only
// has to list again.
func refused(err error) bool {
	switch code := request.Code(err); code {
	case http.StatusGone, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// ownTenant is the tenant of what the operator itself needs.
const ownTenant = "operator"

// tenant returns whose requests share a pace: those as the service accounts of one namespace, and apart from all others the requests
// for what the operator itself needs.
func (w Want) tenant() string {
	switch w.Role {
	case Definition, Controller, Seal, Webhook:
		return ownTenant
	case Parent, Child, Related, Namespace:
	}
	return w.As[:max(0, strings.LastIndexByte(w.As, ':'))]
}

// join returns the pace of a tenant for one more watch; the lock is held.
func (m *Manager) join(tenant string) *pace {
	p := m.paces[tenant]
	if p == nil {
		p = &pace{retries: flowcontrol.NewTokenBucketRateLimiter(refusedPerSecond, refusedBurst), unanswered: make(chan struct{}, mostUnanswered)}
		m.paces[tenant] = p
	}
	p.watches++
	return p
}

// leave undoes join; the lock is held.
func (m *Manager) leave(tenant string) {
	if p := m.paces[tenant]; p.watches > 1 {
		p.watches--
		return
	}
	delete(m.paces, tenant)
}
