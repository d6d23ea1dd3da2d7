// Package access authenticates and authorizes HTTP requests with TokenReview and SubjectAccessReview, like kube-apiserver for its
// own /metrics.
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
	// allowedTTL is how long an "allowed" result is cached. After a permission or token is revoked, requests may still be allowed
	// for this time.
	allowedTTL = time.Minute
	// deniedTTL is short, so that a newly granted permission takes effect soon.
	deniedTTL = 10 * time.Second
	// cacheSize is the size of each cache. "Allowed" results have their own cache, so that invalid tokens cannot evict them.
	cacheSize = 256
	// maxReviews limits concurrent reviews, and so the load on the API server if a client sends many tokens.
	maxReviews = 4
	// reviewTimeout is the timeout of the reviews for one request.
	reviewTimeout = 5 * time.Second
)

// verdict is the result of the reviews.
type verdict int

const (
	unknown   verdict = iota // not authenticated
	forbidden                // authenticated, but not authorized
	allowed
)

// asker performs reviews.
type asker interface {
	// ask reviews a request with that token. It returns an error if there is no result.
	ask(ctx context.Context, token, verb, path string) (verdict, error)
}

// Guard authenticates and authorizes requests. It is safe for concurrent use.
type Guard struct {
	server              asker
	clock               clock.PassiveClock
	slots               chan struct{}
	allowances, denials *lru.Cache // question → answer

	mu        sync.Mutex
	asking    map[question]*inquiry
	lastError string // the last logged error; empty after a successful review
}

// question is the cache key of a result. It contains only a hash of the token.
type question struct {
	token      [sha256.Size]byte
	verb, path string
}

type answer struct {
	verdict verdict
	until   time.Time
}

// inquiry is a review in progress, shared by all requests that wait for it.
type inquiry struct {
	done    chan struct{}
	verdict verdict
	err     error
}

func newGuard(server asker, now clock.PassiveClock) *Guard {
	return &Guard{
		server: server, clock: now, slots: make(chan struct{}, maxReviews),
		allowances: lru.New(cacheSize), denials: lru.New(cacheSize), asking: map[question]*inquiry{},
	}
}

// Protect wraps next with authentication and authorization. The bearer token must be valid, and its user must be allowed to use
// the lower-case method on the path as a nonResourceURL.
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
			http.Error(w, "forbidden: the user of the token needs a ClusterRole with the rule {nonResourceURLs: ["+r.URL.Path+"], verbs: ["+verb+"]}", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// bearer returns the bearer token of a request, or "" if there is none.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// decide returns a cached result, or performs one review for all concurrent requests with the same question.
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

// inquire performs the review. It ignores cancellation of ctx, because other requests may wait for the same result.
func (g *Guard) inquire(ctx context.Context, q question, one *inquiry, token string) {
	one.err = errors.New("the review was not answered") // replaced by the result
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.asking, q)
		if one.err == nil {
			g.remember(q, one.verdict)
		}
		g.logError(ctx, one.err)
		close(one.done)
	}()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
	defer cancel()
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
		one.verdict, one.err = g.server.ask(limited, token, q.verb, q.path)
	case <-limited.Done():
		one.err = errors.New("too many reviews are in flight")
	}
}

// recall returns a cached result that has not expired.
func (g *Guard) recall(q question) (verdict, bool) {
	for _, cache := range []*lru.Cache{g.allowances, g.denials} {
		if a, ok := cache.Get(q); ok && g.clock.Now().Before(a.(answer).until) { //nolint:forcetypeassert // remember stores only this type
			return a.(answer).verdict, true //nolint:forcetypeassert // as above
		}
	}
	return unknown, false
}

func (g *Guard) remember(q question, v verdict) {
	if v == allowed {
		g.allowances.Add(q, answer{v, g.clock.Now().Add(allowedTTL)})
		return
	}
	g.allowances.Remove(q)
	g.denials.Add(q, answer{v, g.clock.Now().Add(deniedTTL)})
}

// logError logs an error, unless the previous review failed with the same one.
func (g *Guard) logError(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != g.lastError {
		klog.FromContext(ctx).Error(err, "cannot check who is allowed to read the metrics")
	}
	g.lastError = text
}
