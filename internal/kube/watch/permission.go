package watch

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// recheckPermission is how often the permission of a running watch is checked, and recheckJitter is the maximum fraction added to
// that interval. The API server authorizes a watch only when it starts, and does not end it when the permission is revoked. Only
// watches of related objects and Namespaces are checked, because requests for children and parents are denied anyway.
const (
	recheckPermission = 6500 * time.Millisecond
	recheckJitter     = 0.4
)

// recheck ends the running watch when it is no longer allowed, until ctx is done. The Reflector then requests a new watch, which
// the API server authorizes.
func (r *requests) recheck(ctx context.Context, every time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait.Jitter(every, recheckJitter)):
		}
		if r.cache.Since() == 0 {
			continue // a request is in progress or has failed: the API server authorizes the next one anyway
		}
		if r.revoked(ctx) {
			r.end()
		}
	}
}

// revoked reports whether the watch is no longer allowed. If the user is not allowed to create access reviews, it lists one object
// instead, to check whether the user may read.
func (r *requests) revoked(ctx context.Context) bool {
	allowed, err := r.client.MayWatch(ctx, r.want.Resource, r.want.Namespace, r.want.Fields)
	if !apierrors.IsForbidden(err) {
		return err == nil && !allowed
	}
	_, err = r.client.List(ctx, r.want.Resource, r.want.Namespace, metav1.ListOptions{LabelSelector: r.want.Labels, FieldSelector: r.want.Fields, Limit: 1})
	return apierrors.IsForbidden(err)
}

// end stops the running watch.
func (r *requests) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running != nil {
		r.running.Stop()
	}
}
