// Package access authenticates and authorizes HTTP requests by TokenReview and SubjectAccessReview,
// as kube-apiserver does for its own /metrics.
package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

const (
	// allowedFor is for how long an allowance counts, and so how long after a right or a token was taken
	// away a request may still be let through.
	allowedFor = time.Minute
	// refusedFor is short: who was just given a right wants to use it.
	refusedFor = 10 * time.Second
	// remembered is how many answers of each sort are kept. A token that is good for nothing cannot drive
	// out one that is allowed.
	remembered = 256
	// atOnce is how many questions may be on their way. Whoever sends many tokens keeps the API server no
	// busier than that.
	atOnce = 4
	// reviewLimit is how long the answer to a request may take.
	reviewLimit = 5 * time.Second
)

// verdict is what the API server says about a request.
type verdict int

const (
	unknown   verdict = iota // nobody knows who sends it
	forbidden                // the sender is known, and may not
	allowed
)

// asker asks the API server.
type asker interface {
	// ask returns what it says about a request with that token. The error says that it does not.
	ask(ctx context.Context, token, verb, path string) (verdict, error)
}

// Guard decides which requests are let through. It is safe for concurrent use.
type Guard struct {
	server               asker
	clock                clock.PassiveClock
	slots                chan struct{}
	allowances, refusals *lru.Cache // question → answer

	mu     sync.Mutex
	asking map[question]*inquiry
	said   string // the error that was logged last; empty after an answer
}

// question is what an answer holds for. The token itself is not kept.
type question struct {
	token      [sha256.Size]byte
	verb, path string
}

type answer struct {
	verdict verdict
	until   time.Time
}

// inquiry is a question on its way, for all that wait for the answer.
type inquiry struct {
	done    chan struct{}
	verdict verdict
	err     error
}

func newGuard(server asker, now clock.PassiveClock) *Guard {
	return &Guard{
		server: server, clock: now, slots: make(chan struct{}, atOnce),
		allowances: lru.New(remembered), refusals: lru.New(remembered), asking: map[question]*inquiry{},
	}
}

// Protect returns a handler that answers those requests with next that are let through: their bearer
// token is known to the API server, and its user may use the method, in small letters, on the path as a nonResourceURL.
func (g *Guard) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		result, err := unknown, error(nil)
		token, verb := bearer(r), strings.ToLower(r.Method)
		if token != "" {
			result, err = g.decide(r.Context(), token, verb, r.URL.Path)
		}
		switch {
		case err != nil:
			http.Error(w, "templater cannot check your permissions: see its log", http.StatusServiceUnavailable)
		case result == unknown:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "send a token that the API server accepts: Authorization: Bearer TOKEN", http.StatusUnauthorized)
		case result == forbidden:
			http.Error(w, "not allowed: ask an administrator for a ClusterRole with {nonResourceURLs: ["+r.URL.Path+"], verbs: ["+verb+"]}", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// bearer returns the token of a request, or "" when there is none.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// decide returns what is known already, or asks once for all that want to know it.
func (g *Guard) decide(ctx context.Context, token, verb, path string) (verdict, error) {
	q := question{sha256.Sum256([]byte(token)), verb, path}
	g.mu.Lock()
	if known, ok := g.recall(q); ok {
		g.mu.Unlock()
		return known, nil
	}
	one, found := g.asking[q]
	if !found {
		one = &inquiry{done: make(chan struct{})}
		g.asking[q] = one
	}
	g.mu.Unlock()
	if !found {
		g.inquire(ctx, q, one, token)
	}
	select {
	case <-one.done:
		return one.verdict, one.err
	case <-ctx.Done():
		return unknown, ctx.Err()
	}
}

// inquire asks, also when the sender goes meanwhile: others may wait for the answer, too.
func (g *Guard) inquire(ctx context.Context, q question, one *inquiry, token string) {
	one.err = errors.New("the review was not answered") // unless it is
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.asking, q)
		if one.err == nil {
			g.remember(q, one.verdict)
		}
		g.tell(ctx, one.err)
		close(one.done)
	}()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewLimit)
	defer cancel()
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
		one.verdict, one.err = g.server.ask(limited, token, q.verb, q.path)
	case <-limited.Done():
		one.err = errors.New("too many reviews are in flight")
	}
}

// recall returns an answer that still counts.
func (g *Guard) recall(q question) (verdict, bool) {
	for _, cache := range []*lru.Cache{g.allowances, g.refusals} {
		if a, ok := cache.Get(q); ok && g.clock.Now().Before(a.(answer).until) { //nolint:forcetypeassert // remember puts no other type in
			return a.(answer).verdict, true //nolint:forcetypeassert // as above
		}
	}
	return unknown, false
}

func (g *Guard) remember(q question, v verdict) {
	if v == allowed {
		g.allowances.Add(q, answer{v, g.clock.Now().Add(allowedFor)})
		return
	}
	g.allowances.Remove(q)
	g.refusals.Add(q, answer{v, g.clock.Now().Add(refusedFor)})
}

// tell logs an error once, until there is an answer again.
func (g *Guard) tell(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != g.said {
		klog.FromContext(ctx).Error(err, "cannot check who is allowed to read the metrics")
	}
	g.said = text
}
