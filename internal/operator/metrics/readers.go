package metrics

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// mostScrapes is how many requests are answered at a time.
	mostScrapes = 4
	// giveUpEvery is after which time one that still waits for its turn has another one given up: what had the turns when it came may have
	// been followed by others that do not read.
	giveUpEvery = time.Second
)

// readers answers few requests at a time. Where there is one too many, the oldest one is given up: a client that reads its answer takes
// moments. So those that do not read keep no others out. It is safe for concurrent use.
type readers struct {
	next  http.Handler
	turns chan struct{}

	mu  sync.Mutex
	all []*http.ResponseController // of those that have a turn and were not given up; the oldest is first
}

func newReaders(next http.Handler) *readers {
	return &readers{next: next, turns: make(chan struct{}, mostScrapes)}
}

// ServeHTTP answers a request when it has its turn.
func (a *readers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !a.turn(r.Context()) {
		return
	}
	defer func() { <-a.turns }()
	reader := http.NewResponseController(w)
	a.add(reader)
	defer a.remove(reader)
	a.next.ServeHTTP(w, r)
}

// turn waits for a turn, and returns false where ctx has ended before.
func (a *readers) turn(ctx context.Context) bool {
	select {
	case a.turns <- struct{}{}:
		return true
	default:
	}
	for {
		a.giveUp()
		select {
		case a.turns <- struct{}{}:
			return true
		case <-ctx.Done():
			return false
		case <-time.After(giveUpEvery):
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

// giveUp ends what the oldest request writes, if there is one.
func (a *readers) giveUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.all) > 0 {
		_ = a.all[0].SetWriteDeadline(time.Unix(1, 0)) // where that cannot be done, nothing is written to a connection
		a.all = a.all[1:]
	}
}
