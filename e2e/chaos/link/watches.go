package link

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// watches are the lists and watches of one resource.
type watches struct {
	codes   []int // how new ones are answered, the last counts
	current map[*context.CancelFunc]struct{}
}

// RefuseWatches ends all watches of a resource, named in the plural, and answers lists and watches of it
// with the code until end is called.
func (l *Link) RefuseWatches(resource string, code int) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.watchesOf(resource)
	w.codes = append(w.codes, code)
	for cancel := range w.current {
		(*cancel)()
	}
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		w.codes = w.codes[:len(w.codes)-1] // whichever: all end
	})
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
