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

// How long an answer is held back that is slow, or late.
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

// heldUp marks a write that a stall has held up. It is on its way, whoever waits for the answer.
func heldUp(r *http.Request) *http.Request {
	r = r.WithContext(context.WithoutCancel(r.Context()))
	r.Header.Set("User-Agent", r.UserAgent()+LateMark)
	return r
}

// LateMark ends the user agent of a write that a stall has held up, so that the audit log tells
// it from one that was sent when it came in.
const LateMark = " held-up"

const (
	// travel is how long a request may be on its way. What takes longer is late.
	travel = 2 * time.Second
	// aftermath is how long after a stall requests come in that were caught in it.
	aftermath = time.Second
)

// late reports whether a write may have been caught in a stall, and for longer than a request may travel.
func late(r *http.Request) bool {
	c, _ := r.Context().Value(connKey{}).(*conn)
	if c == nil || r.Method == http.MethodGet {
		return false
	}
	ended := c.caught.Load()
	return ended != nil && time.Since(*ended) < aftermath
}

// connKey is for the connection in the context of a request.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	if wrapped, ok := c.(*tls.Conn); ok {
		c = wrapped.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// answer is what the API server would send.
func answer(w http.ResponseWriter, code int, reason string) {
	answerSaying(w, code, reason, "injected")
}

func answerSaying(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code) // the client may be gone
}

// hit decides by chance whether an active fault hits a request.
func (l *Link) hit(f Fault) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active[f] == 0 || rand.IntN(2) == 0 {
		return false
	}
	l.hits[f]++
	return true
}

// modify sees the server's answer to a request that it has carried out.
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

// wait lets time pass, unless nobody waits for the answer any more.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
