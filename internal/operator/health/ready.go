package health

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
)

// Ready serves the readiness probe. The operator is ready once its own watches have synced, each TemplateController was
// synced, and their watches have synced or failed. Later events do not make it unready. A replica that waits for the
// lease is ready once its watches have synced. It is safe for concurrent use.
type Ready struct {
	// Stopping is done when the operator stops.
	Stopping context.Context //nolint:containedctx // it is a signal here
	// Watches returns the states of all watches.
	Watches func() []watch.State
	// Pending returns the TemplateControllers that were not synced yet.
	Pending func() []string

	began, done atomic.Bool
}

// Begin marks the operator's own watches as synced.
func (r *Ready) Begin() { r.began.Store(true) }

// ServeHTTP responds with 200, or with 503 and what is missing.
func (r *Ready) ServeHTTP(w http.ResponseWriter, _ *http.Request) { answer(w, r.Missing()) }

// Missing returns why the operator is not ready, one sentence each, sorted.
func (r *Ready) Missing() []string {
	switch {
	case r.Stopping.Err() != nil:
		return []string{"the operator is stopping"}
	case r.done.Load():
		return nil
	}
	var out []string
	for _, name := range r.Pending() {
		out = append(out, fmt.Sprintf("%s has not been reconciled yet", v1.Describe(name)))
	}
	for _, s := range r.Watches() {
		switch {
		case s.Synced:
		case s.Err == nil:
			out = append(out, fmt.Sprintf("the watch for %s has not synced yet", s.Want))
		case s.Want.Role == watch.Definition || s.Want.Role == watch.Controller || s.Want.Role == watch.Seal:
			out = append(out, fmt.Sprintf("the watch for %s, which the operator needs, is failing: see the operator's log", s.Want))
		}
	}
	if len(out) == 0 && !r.began.Load() {
		out = []string{"the operator is starting"}
	}
	slices.Sort(out)
	r.done.Store(len(out) == 0)
	return out
}
