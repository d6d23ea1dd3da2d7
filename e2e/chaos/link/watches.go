package link

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// watches are the lists and watches of one resource.
type watches struct {
	codes   []int           // how new ones are answered, the last counts
	held    []chan struct{} // closed when what they bring may come, the last counts
	current map[*context.CancelFunc]struct{}
}

// RefuseWatches ends all watches of a resource, named in the plural, and answers lists and watches of it
// with the code until end is called.
func (l *Link) RefuseWatches(resource string, code int) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.watchesOf(resource)
	w.codes = append(w.codes, code)
	w.end()
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		w.codes = w.codes[:len(w.codes)-1] // whichever: all end
	})
}

// HoldWatches ends all watches of a resource. New lists and watches of it are accepted at once, and what they bring comes when end is called:
// meanwhile their client has an answer, and knows nothing.
func (l *Link) HoldWatches(resource string) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, gate := l.watchesOf(resource), make(chan struct{})
	w.held = append(w.held, gate)
	w.end()
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		w.held = slices.DeleteFunc(w.held, func(other chan struct{}) bool { return other == gate })
		close(gate)
	})
}

// end ends all that there are.
func (w *watches) end() {
	for cancel := range w.current {
		(*cancel)()
	}
}

// holding returns what lists and watches of a resource wait for, or nil.
func (l *Link) holding(resource string) chan struct{} {
	if resource == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.watchesOf(resource).held
	if len(held) == 0 {
		return nil
	}
	return held[len(held)-1]
}

// hold holds back what an answer brings, if that is to be so.
func (l *Link) hold(response *http.Response) {
	if gate := l.holding(collection(response.Request)); gate != nil {
		response.Body = &heldBody{response.Body, gate, response.Request.Context().Done()}
	}
}

// heldBody is that of an answer whose first byte waits.
type heldBody struct {
	io.ReadCloser
	gate <-chan struct{}
	over <-chan struct{}
}

// Read waits.
func (b *heldBody) Read(to []byte) (int, error) {
	select {
	case <-b.gate:
		return b.ReadCloser.Read(to)
	case <-b.over:
		return 0, context.Canceled
	}
}

// atOnce sends the header of an answer as soon as it is known.
type atOnce struct{ http.ResponseWriter }

// WriteHeader sends it.
func (w atOnce) WriteHeader(code int) {
	w.ResponseWriter.WriteHeader(code)
	_ = http.NewResponseController(w.ResponseWriter).Flush() // the client may have gone
}

// Unwrap is for http.ResponseController.
func (w atOnce) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// ShiftDates has the dates of answers be that far ahead, as when the clock of the server is, until end is called.
func (l *Link) ShiftDates(offset time.Duration) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dates = append(l.dates, offset)
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.dates = l.dates[:len(l.dates)-1] // whichever: all end
	})
}

// date shifts the date of an answer.
func (l *Link) date(header http.Header) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, err := http.ParseTime(header.Get("Date")); err == nil && len(l.dates) > 0 {
		header.Set("Date", at.Add(l.dates[len(l.dates)-1]).UTC().Format(http.TimeFormat))
	}
}

func (l *Link) watchesOf(resource string) *watches {
	w := l.watches[resource]
	if w == nil {
		w = &watches{current: map[*context.CancelFunc]struct{}{}}
		l.watches[resource] = w
	}
	return w
}

// enter notes a list or watch, so that it can be ended. A code other than 0 is the answer to give.
func (l *Link) enter(r *http.Request) (same *http.Request, code int, leave func()) {
	resource := collection(r)
	if resource == "" {
		return r, 0, func() {}
	}
	ctx, cancel := context.WithCancel(r.Context())
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.watchesOf(resource)
	if len(w.codes) > 0 {
		code = w.codes[len(w.codes)-1]
	}
	w.current[&cancel] = struct{}{}
	return r.WithContext(ctx), code, func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(w.current, &cancel)
	}
}

// collection returns the resource that is listed or watched, or "" for other requests. Paths are
// /api/v1/… and /apis/GROUP/VERSION/…, then namespaces/NAMESPACE/ or not, then the resource.
func collection(r *http.Request) string {
	if r.Method != http.MethodGet {
		return ""
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return ""
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	if len(parts) != 1 {
		return ""
	}
	return parts[0]
}

// refuse answers a list or watch as the API server does.
func refuse(w http.ResponseWriter, r *http.Request, code int) {
	reason, message := "InternalError", "injected"
	switch code {
	case http.StatusForbidden:
		reason, message = "Forbidden", fmt.Sprintf(`%s is forbidden: User "injected" cannot list resource "%s" in API group "" at the cluster scope`, collection(r), collection(r))
	case http.StatusGone:
		reason, message = "Expired", "too old resource version: 1 (2)"
	}
	answerSaying(w, code, reason, message)
}
