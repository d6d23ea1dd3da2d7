package leader

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// lock is the lock that client-go's election works with. It opens the fence with each renewal,
// renews no more often than needed, and notices when another replica has the lease.
// One goroutine uses it.
type lock struct {
	resourcelock.Interface
	fence *Fence
	every time.Duration // between renewals
	taken func()        // called when another replica has the lease that was ours
	held  bool          // whether the lease has ever been ours
	gone  bool          // whether another replica has the lease that was ours
	tried bool          // whether it may be ours although no answer said so
	err   error         // of the last request
	// hinted is the last hint that was given.
	hinted string
}

// Create makes the Lease, which is ours then.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.hold(ctx, func() error { return l.Interface.Create(ctx, record) })
	if apierrors.IsNotFound(err) {
		l.hint(ctx, "waiting for the namespace of the lease: create it, or set another --lease-namespace")
	}
	return err
}

// Update takes or renews the lease. client-go has one period for renewing and for trying to
// get the lease; for the latter it is short, so most renewals are left out.
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

// note takes note of the result of a request. One that was cut off in the end says less than the one
// before.
func (l *lock) note(ctx context.Context, err error) {
	if err == nil || l.err == nil || ctx.Err() == nil {
		l.err = err
	}
	if apierrors.IsForbidden(err) {
		l.hint(ctx, "waiting for permission: grant templater the verbs get, create and update on leases.coordination.k8s.io in the namespace of the lease")
	}
}

// hint says once what the user can do.
func (l *lock) hint(ctx context.Context, text string) {
	if l.hinted != text {
		klog.FromContext(ctx).Info(text, "lease", l.Describe())
	}
	l.hinted = text
}
