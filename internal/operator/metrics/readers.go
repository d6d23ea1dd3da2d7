package metrics

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// maxScrapes limits concurrent scrapes.
	maxScrapes = 4
	// giveUpInterval is how long a waiting scrape waits before it aborts the next-oldest running scrape: freed slots
	// may have been taken by other slow clients.
	giveUpInterval = time.Second
)

// readers limits concurrent scrapes. When the limit is reached, the oldest scrape is aborted, so that clients that do
// not read the response cannot block others. It is safe for concurrent use.
type readers struct {
	next  http.Handler
	slots chan struct{}

	mu  sync.Mutex
	all []*http.ResponseController // running scrapes that were not aborted, oldest first
}

func newReaders(next http.Handler) *readers {
	return &readers{next: next, slots: make(chan struct{}, maxScrapes)}
}

// ServeHTTP serves a scrape once a slot is free.
func (a *readers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !a.acquire(r.Context()) {
		return
	}
	defer func() { <-a.slots }()
	reader := http.NewResponseController(w)
	a.add(reader)
	defer a.remove(reader)
	a.next.ServeHTTP(w, r)
}

// acquire waits for a slot. It returns false if ctx is done first.
func (a *readers) acquire(ctx context.Context) bool {
	select {
	case a.slots <- struct{}{}:
		return true
	default:
	}
	for {
		a.giveUp()
		select {
		case a.slots <- struct{}{}:
			return true
		case <-ctx.Done():
			return false
		case <-time.After(giveUpInterval):
		}
	}
}

func (a *readers) add(reader *http.ResponseController) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, reader)
}

func (a *readers) remove(reader *http.ResponseController) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = slices.DeleteFunc(a.all, func(other *http.ResponseController) bool { return other == reader })
}

// giveUp aborts the response to the oldest scrape, if any.
func (a *readers) giveUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.all) > 0 {
		_ = a.all[0].SetWriteDeadline(time.Unix(1, 0)) // it only fails if the response is not written to a connection
		a.all = a.all[1:]
	}
}
