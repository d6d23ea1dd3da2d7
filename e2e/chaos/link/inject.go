package link

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// lateness is how long a slow answer is held back.
const lateness = 700 * time.Millisecond

var errDropped = errors.New("the answer is lost")

// handler answers some requests itself.
func (l *Link) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case l.hit(TooMany):
			w.Header().Set("Retry-After", "1")
			answer(w, http.StatusTooManyRequests, "TooManyRequests")
		case l.hit(ServerError):
			answer(w, http.StatusInternalServerError, "InternalError")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// answer is what the API server would send.
func answer(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"injected","reason":%q,"code":%d}`, reason, code) // the client may be gone
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
	if l.hit(SlowAnswers) {
		timer := time.NewTimer(lateness)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-response.Request.Context().Done():
		}
	}
	if response.Request.Method != http.MethodGet && l.hit(DropAnswers) {
		return errDropped
	}
	return nil
}
