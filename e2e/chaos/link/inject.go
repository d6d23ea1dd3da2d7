package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// How long slow and late responses are delayed.
const (
	slowness = 700 * time.Millisecond
	lateness = 7 * time.Second
)

var errDropped = errors.New("the answer is lost")

// handler answers some requests itself.
func (l *Link) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, code, leave := l.enter(r)
		defer leave()
		switch {
		case code != 0:
			refuse(w, r, code)
		case l.hit(TooMany):
			w.Header().Set("Retry-After", "1")
			answer(w, http.StatusTooManyRequests, "TooManyRequests")
		case l.hit(ServerError):
			answer(w, http.StatusInternalServerError, "InternalError")
		case l.holding(collection(r)) != nil:
			next.ServeHTTP(atOnce{w}, r)
		case late(r):
			next.ServeHTTP(w, heldUp(r))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// heldUp marks a write that was delayed by a stall. It is forwarded even if its client has given up.
func heldUp(r *http.Request) *http.Request {
	r = r.WithContext(context.WithoutCancel(r.Context()))
	r.Header.Set("User-Agent", r.UserAgent()+LateMark)
	return r
}

// LateMark is the suffix of the user agent of a write that was delayed by a stall, which identifies it in the audit
// log.
const LateMark = " held-up"

const (
	// travel is the maximum transit time of a request; a slower one is late.
	travel = 2 * time.Second
	// aftermath is how long after a stall delayed requests may arrive.
	aftermath = time.Second
)

// late reports whether a write may have been delayed by a stall for longer than travel.
func late(r *http.Request) bool {
	c, _ := r.Context().Value(connKey{}).(*conn)
	if c == nil || r.Method == http.MethodGet {
		return false
	}
	ended := c.caught.Load()
	return ended != nil && time.Since(*ended) < aftermath
}

// connKey is the context key for the connection of a request.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	if wrapped, ok := c.(*tls.Conn); ok {
		c = wrapped.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// answer responds like the API server.
func answer(w http.ResponseWriter, code int, reason string) {
	answerSaying(w, code, reason, "injected")
}

func answerSaying(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code) // the client may be gone
}

// hit decides randomly whether an active fault affects a request.
func (l *Link) hit(f Fault) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active[f] == 0 || rand.IntN(2) == 0 {
		return false
	}
	l.hits[f]++
	return true
}

// modify handles the server's response to an executed request.
func (l *Link) modify(response *http.Response) error {
	l.date(response.Header)
	l.hold(response)
	if l.hit(SlowAnswers) {
		wait(response.Request.Context(), slowness)
	}
	if l.hit(LateAnswers) {
		wait(response.Request.Context(), lateness)
	}
	if response.Request.Method != http.MethodGet && l.hit(DropAnswers) {
		return errDropped
	}
	return nil
}

// wait sleeps unless ctx is done.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
