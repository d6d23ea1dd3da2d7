package watch

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// recheckPermission is how often the API server is asked whether a running watch is still permitted, and recheckJitter by which part that
// may be longer: it authorizes a watch when the watch begins, and does not end it when the permission is withdrawn. Only watches whose
// objects templates read for others are checked: a request for a child or a parent is refused by itself.
const (
	recheckPermission = 6500 * time.Millisecond
	recheckJitter     = 0.4
)

// recheck ends the running watch once it is not permitted any more, until ctx ends. The Reflector then asks for another one, and the
// API server decides.
func (r *requests) recheck(ctx context.Context, every time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait.Jitter(every, recheckJitter)):
		}
		if r.cache.Since() == 0 {
			continue // it is being read, or has failed: the API server is asked anyway
		}
		allowed, err := r.client.MayWatch(ctx, r.want.Resource, r.want.Namespace, r.want.Fields)
		if !allowed && (err == nil || apierrors.IsForbidden(err)) {
			r.end()
		}
	}
}

// end ends the running watch.
func (r *requests) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running != nil {
		r.running.Stop()
	}
}
