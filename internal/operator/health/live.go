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
	// WatchLimit is how long a watch may be without any sign of life. The API server ends watches, and the Reflector
	// begins them anew, after 5 to 10 minutes; what is left is for connecting and listing.
	WatchLimit = 15 * time.Minute
	// WorkLimit is how long a worker may be busy without an answer to a request. A request takes at
	// most kube.RequestLimit, and templates have a budget of seconds.
	WorkLimit = 5 * time.Minute
)

// Live says whether the operator is alive. It is safe for concurrent use.
type Live struct {
	// Watches returns how all watches fare.
	Watches func() []watch.State
	// Work returns what all workers have under way.
	Work func() []queue.Work
	// Ask returns nil when the API server answers. It is called only when something seems
	// to be stuck, and must not take long.
	Ask func(context.Context) error
	// Now is the clock.
	Now func() time.Time

	mu   sync.Mutex
	away time.Time // when the API server was last found not to answer
}

// ServeHTTP answers 200, or 503 with what is stuck and since when.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer(w, l.Stuck(r.Context()))
}

// Stuck returns what is stuck, one sentence each, sorted. While the API server does not answer,
// and for as long after as a watch or worker may take to notice that it is back, that is nothing.
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
			out = append(out, fmt.Sprintf("the watch of %s is stuck: no list, event, bookmark or restart %s", s.Want, ago(now, s.Heard)))
		}
	}
	for _, w := range l.Work() {
		if over(w.Since, WorkLimit) {
			out = append(out, fmt.Sprintf("a worker is stuck: %s, busy without a request %s", w, ago(now, w.Since)))
		}
	}
	slices.Sort(out)
	return out
}

func ago(now, since time.Time) string {
	return fmt.Sprintf("since %s (%s)", since.UTC().Format(time.RFC3339), now.Sub(since).Truncate(time.Second))
}

// answer answers a probe: 200, or 503 with the reasons.
func answer(w http.ResponseWriter, reasons []string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if len(reasons) == 0 {
		_, _ = fmt.Fprintln(w, "ok") // an error means that the client has gone
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = fmt.Fprintln(w, strings.Join(reasons, "\n")) // likewise
}
