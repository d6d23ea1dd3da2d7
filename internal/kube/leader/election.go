package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
)

// Timing of the election. Another replica acquires the lease leaseDuration after it has observed the last renewal. The leader
// stops earlier: it renews every renewPeriod, and stops if it could not renew for renewDeadline after a renewal was due. Its
// writes are rejected from fenceLimit on, so that a request which was still allowed has time to arrive.
const (
	leaseDuration = 15 * time.Second
	fenceLimit    = 13 * time.Second
	renewDeadline = 10 * time.Second
	renewPeriod   = 2 * time.Second
	// retryPeriod is how often candidates check the lease. client-go adds jitter, up to 2.2 times this period. A released lease is
	// acquired within that time.
	retryPeriod = 500 * time.Millisecond
	// requestTimeout is the timeout of lease requests.
	requestTimeout = 5 * time.Second
)

// ErrLost means that the lease was lost, so all work must stop.
var ErrLost = errors.New("lost the lease")

// Lease identifies a Lease and the candidate.
type Lease struct {
	Namespace, Name string
	Identity        string // unique per process
}

// Election elects a leader among several replicas.
type Election struct {
	lock  resourcelock.Interface
	name  string
	fence *Fence
}

// New returns an election for a Lease on the API server of config. It returns an error if config is invalid.
func New(config *rest.Config, lease Lease) (*Election, error) {
	config = rest.CopyConfig(config)
	config.Timeout = requestTimeout
	client, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for the lease: %w", err)
	}
	return newElection(&resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: lease.Identity},
	}, lease.Name), nil
}

func newElection(lock resourcelock.Interface, name string) *Election {
	return &Election{lock: lock, name: name, fence: NewFence(fenceLimit)}
}

// Guard returns a copy of config whose clients write only while this replica holds the lease. Otherwise, their writes fail with
// ErrFenced.
func (e *Election) Guard(config *rest.Config) *rest.Config { return e.fence.Guard(config) }

// Run runs leader election until ctx is done, and calls lead in a new goroutine once this replica acquires the lease. All work
// must be finished when ctx is done: Run then releases the lease, so that the next replica starts immediately. If the lease could
// not be renewed in time or another replica holds it, Run returns ErrLost immediately, without releasing the lease. Call it only
// once.
func (e *Election) Run(ctx context.Context, lead func()) error {
	term, end := context.WithCancel(ctx)
	defer end()
	defer e.fence.Shut()
	l := &lock{Interface: e.lock, fence: e.fence, every: renewPeriod, taken: end}
	// ReleaseOnCancel is not set: client-go would also release the lease after losing it, before it calls OnStoppedLeading.
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l, Name: e.name, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { lead() }, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return fmt.Errorf("acquire the Lease %s: %w", e.lock.Describe(), err)
	}
	elector.Run(term)
	switch {
	case ctx.Err() == nil:
		return e.lost(l)
	case l.tried:
		e.fence.Shut()
		e.release(ctx)
	}
	return nil
}

// lost returns ErrLost with the cause.
func (e *Election) lost(l *lock) error {
	why := fmt.Sprintf("it was not renewed for %s, because this process or its machine was paused", renewDeadline)
	switch {
	case l.gone:
		why = "another replica holds it"
	case l.err != nil:
		why = fmt.Sprintf("renewal failed for %s, last error: %v", renewDeadline, l.err)
	}
	return fmt.Errorf("%w %s: %s; exiting, so that the kubelet (or another supervisor) restarts this replica", ErrLost, e.lock.Describe(), why)
}

// release releases the lease if this replica still holds it. If that fails, other replicas wait until the lease expires.
func (e *Election) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	// The last renewal may still be in flight and change the Lease in between.
	err := retry.OnError(retry.DefaultRetry, apierrors.IsConflict, func() error {
		record, _, err := e.lock.Get(ctx)
		if err != nil || record.HolderIdentity != e.lock.Identity() {
			return err
		}
		now := metav1.Now()
		return e.lock.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now, LeaderTransitions: record.LeaderTransitions,
		})
	})
	logger := klog.FromContext(ctx).WithValues("lease", e.lock.Describe())
	if err != nil {
		logger.Info("lease not released, another replica takes over when it expires", "after", leaseDuration.String(), "reason", err.Error())
		return
	}
	logger.V(2).Info("lease released")
}
