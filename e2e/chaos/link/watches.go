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
	codes   []int           // status codes for new ones; the last one applies
	held    []chan struct{} // closed when their content may be delivered; the last one applies
	current map[*context.CancelFunc]struct{}
}

// RefuseWatches ends all watches of a resource (plural), and responds to its lists and watches with the code until end
// is called.
func (l *Link) RefuseWatches(resource string, code int) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.watchesOf(resource)
	w.codes = append(w.codes, code)
	w.end()
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		w.codes = w.codes[:len(w.codes)-1] // any one, since each must end
	})
}

// HoldWatches ends all watches of a resource. New lists and watches of it are accepted immediately, but their content
// is delivered only after end is called: meanwhile the client has a response without data.
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

// end ends all current watches.
func (w *watches) end() {
	for cancel := range w.current {
		(*cancel)()
	}
}

// holding returns the channel that lists and watches of a resource wait for, or nil.
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

// hold delays the body of a response if its resource is held.
func (l *Link) hold(response *http.Response) {
	if gate := l.holding(collection(response.Request)); gate != nil {
		response.Body = &heldBody{response.Body, gate, response.Request.Context().Done()}
	}
}

// heldBody is a response body that is delayed.
type heldBody struct {
	io.ReadCloser
	gate <-chan struct{}
	over <-chan struct{}
}

// Read waits before reading.
func (b *heldBody) Read(to []byte) (int, error) {
	select {
	case <-b.gate:
		return b.ReadCloser.Read(to)
	case <-b.over:
		return 0, context.Canceled
	}
}

// atOnce sends the response header immediately.
type atOnce struct{ http.ResponseWriter }

// WriteHeader sends the header and flushes it.
func (w atOnce) WriteHeader(code int) {
	w.ResponseWriter.WriteHeader(code)
	_ = http.NewResponseController(w.ResponseWriter).Flush() // the client may be gone
}

// Unwrap is for http.ResponseController.
func (w atOnce) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// ShiftDates adds an offset to the Date header of responses, like a wrong server clock, until end is called.
func (l *Link) ShiftDates(offset time.Duration) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dates = append(l.dates, offset)
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.dates = l.dates[:len(l.dates)-1] // any one, since each must end
	})
}

// date shifts the Date header of a response.
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

// enter registers a list or watch, so that it can be ended. A code other than 0 is the response to send.
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

// collection returns the resource that is listed or watched, or "" for other requests. Paths are /api/v1/… and
// /apis/GROUP/VERSION/…, then optionally namespaces/NAMESPACE/, then the resource.
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

// refuse responds to a list or watch like the API server.
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
