package leader

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// lock is a resourcelock.Interface for client-go's leader election. It opens the fence with each renewal, renews no more often
// than needed, and detects that another replica holds the lease. It must be used by one goroutine only.
type lock struct {
	resourcelock.Interface
	fence *Fence
	every time.Duration // renewal interval
	taken func()        // called when another replica has taken over our lease
	held  bool          // whether this replica has ever held the lease
	gone  bool          // whether another replica has taken over our lease
	tried bool          // whether a write was tried, so that this replica may hold the lease even without a successful response
	err   error         // of the last request
	// hinted is the last hint that was logged.
	hinted string
}

// Create creates the Lease, held by this replica.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.hold(ctx, func() error { return l.Interface.Create(ctx, record) })
	if apierrors.IsNotFound(err) {
		l.hint(ctx, "waiting for the namespace of the lease: create it, or set another --leader-elect-resource-namespace")
	}
	return err
}

// Update acquires or renews the lease. client-go uses one RetryPeriod for acquiring and renewing. It is short for fast failover,
// so Update skips most renewals.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if l.fence.within(l.every) {
		return nil
	}
	return l.hold(ctx, func() error { return l.Interface.Update(ctx, record) })
}

func (l *lock) hold(ctx context.Context, request func() error) error {
	start := time.Now()
	l.tried = true
	err := request()
	if l.note(ctx, err); err != nil {
		return err
	}
	l.held = true
	l.fence.Renew(start)
	return nil
}

// Get reads the Lease.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if l.note(ctx, err); err == nil && l.held && record.HolderIdentity != l.Identity() {
		l.gone = true
		l.fence.Shut()
		l.taken()
	}
	return record, raw, err
}

// note records the result of a request. If the context of a failed request has ended, an earlier error is kept, because it says
// more.
func (l *lock) note(ctx context.Context, err error) {
	if err == nil || l.err == nil || ctx.Err() == nil {
		l.err = err
	}
	if apierrors.IsForbidden(err) {
		l.hint(ctx, "waiting for permission: grant templater the verbs get, create and update on leases.coordination.k8s.io in the namespace of the lease")
	}
}

// hint logs what the user can do, unless that was the last hint.
func (l *lock) hint(ctx context.Context, text string) {
	if l.hinted != text {
		klog.FromContext(ctx).Info(text, "lease", l.Describe())
	}
	l.hinted = text
}
