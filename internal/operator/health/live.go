package health

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

const (
	// WatchLimit is how long a watch may be silent. The API server closes watches after 5 to 10 minutes, and the
	// Reflector restarts them; the rest is for connecting and listing.
	WatchLimit = 15 * time.Minute
	// WorkLimit is how long a worker may be busy without a response to a request. A request takes at most
	// kube.RequestLimit, and templates have a budget of seconds.
	WorkLimit = 5 * time.Minute
)

// Live serves the liveness probe. It is safe for concurrent use.
type Live struct {
	// Watches returns the states of all watches.
	Watches func() []watch.State
	// Work returns the work in progress of all workers.
	Work func() []queue.Work
	// Ask returns nil if the API server responds. It is only called if something seems to be stuck, and must not take
	// long.
	Ask func(context.Context) error
	// Now is the clock.
	Now func() time.Time

	mu   sync.Mutex
	away time.Time // when the API server was last found unavailable
}

// ServeHTTP responds with 200, or with 503 and what is stuck since when.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer(w, l.Stuck(r.Context()))
}

// Stuck returns what is stuck, one sentence each, sorted. It returns nothing while the API server is unavailable, and
// for as long afterwards as a watch or worker may take to notice that it is available again.
func (l *Live) Stuck(ctx context.Context) []string {
	stuck := l.overdue()
	if len(stuck) == 0 {
		return nil
	}
	if err := l.Ask(ctx); err != nil {
		l.mu.Lock()
		l.away = l.Now()
		l.mu.Unlock()
		return nil
	}
	return stuck
}

func (l *Live) overdue() []string {
	l.mu.Lock()
	away := l.away
	l.mu.Unlock()
	now := l.Now()
	over := func(since time.Time, limit time.Duration) bool {
		return now.Sub(since) > limit && now.Sub(away) > limit
	}
	var out []string
	for _, s := range l.Watches() {
		if over(s.Heard, WatchLimit) {
			out = append(out, fmt.Sprintf("the watch for %s is stuck: no list, event, bookmark or restart %s", s.Want, ago(now, s.Heard)))
		}
	}
	for _, w := range l.Work() {
		if over(w.Since, WorkLimit) {
			out = append(out, fmt.Sprintf("a worker is stuck: %s, no API request %s", w, ago(now, w.Since)))
		}
	}
	slices.Sort(out)
	return out
}

func ago(now, since time.Time) string {
	return fmt.Sprintf("since %s (%s)", since.UTC().Format(time.RFC3339), now.Sub(since).Truncate(time.Second))
}

// answer writes the response to a probe: 200, or 503 with the reasons.
func answer(w http.ResponseWriter, reasons []string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if len(reasons) == 0 {
		_, _ = fmt.Fprintln(w, "ok") // an error means that the client has disconnected
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = fmt.Fprintln(w, strings.Join(reasons, "\n")) // same here
}
