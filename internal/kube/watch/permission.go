package watch

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// recheckPermission is the interval at which the API server is asked whether a running watch is still allowed, and recheckJitter the fraction
// by which it may be longer. The API server authorizes a watch only when it begins, and does not end it when the permission is revoked. Only
// watches of related objects and Namespaces are checked: requests for children and parents are refused anyway.
const (
	recheckPermission = 6500 * time.Millisecond
	recheckJitter     = 0.4
)

// recheck ends the running watch when it is no longer allowed, until ctx ends. The Reflector then requests a new watch, and the API server
// decides.
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
		if r.withdrawn(ctx) {
			r.end()
		}
	}
}

// withdrawn reports whether the API server says that the watch is not allowed any more. If the account may not ask for its permissions, a
// list of one object shows whether it may read.
func (r *requests) withdrawn(ctx context.Context) bool {
	allowed, err := r.client.MayWatch(ctx, r.want.Resource, r.want.Namespace, r.want.Fields)
	if !apierrors.IsForbidden(err) {
		return err == nil && !allowed
	}
	_, err = r.client.List(ctx, r.want.Resource, r.want.Namespace, metav1.ListOptions{LabelSelector: r.want.Labels, FieldSelector: r.want.Fields, Limit: 1})
	return apierrors.IsForbidden(err)
}

// end ends the running watch.
func (r *requests) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running != nil {
		r.running.Stop()
	}
}
