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

// The times of the election. Another replica takes the lease leaseDuration after it has seen the
// last renewal. The leader gives up before: it renews every renewPeriod and stops
// when it could not for renewDeadline after a renewal was due, and its writes are refused from
// fenceLimit on, which leaves time for a request that was let through to arrive.
const (
	leaseDuration = 15 * time.Second
	fenceLimit    = 13 * time.Second
	renewDeadline = 10 * time.Second
	renewPeriod   = 2 * time.Second
	// tryPeriod is how often those that wait look at the lease, give or take: client-go
	// makes up to 2.2 times as much of it. A lease that is released is taken after that time.
	tryPeriod = 500 * time.Millisecond
	// answerTime is how long the API server may take to answer about the lease.
	answerTime = 5 * time.Second
)

// ErrLost says that the lease was lost, so that all work had to stop.
var ErrLost = errors.New("lost the lease")

// Lease names a Lease and who wants to hold it.
type Lease struct {
	Namespace, Name string
	Identity        string // differs for each process
}

// Election lets one of several replicas lead.
type Election struct {
	lock  resourcelock.Interface
	name  string
	fence *Fence
}

// New returns an election for the lease on the server that config names. The
// error is that of a config that makes no sense.
func New(config *rest.Config, lease Lease) (*Election, error) {
	config = rest.CopyConfig(config)
	config.Timeout = answerTime
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

// Guard returns a copy of config whose clients write only while this replica holds the
// lease; else their writes fail with ErrFenced.
func (e *Election) Guard(config *rest.Config) *rest.Config { return e.fence.Guard(config) }

// Run competes for the lease until ctx ends, and calls lead once this replica has it. All work must
// be finished when ctx ends: Run then releases the lease, so that the next one begins
// at once. It returns ErrLost, at once and without a release, when the lease could
// not be renewed in time or another replica has it. It is called once.
func (e *Election) Run(ctx context.Context, lead func()) error {
	term, end := context.WithCancel(ctx)
	defer end()
	defer e.fence.Shut()
	l := &lock{Interface: e.lock, fence: e.fence, every: renewPeriod, taken: end}
	// client-go's own release comes also when the lease was lost, before anybody is told of that.
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l, Name: e.name, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: tryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { lead() }, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return fmt.Errorf("compete for the lease %s: %w", e.lock.Describe(), err)
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

// lost tells why the lease was lost.
func (e *Election) lost(l *lock) error {
	why := fmt.Sprintf("it was not renewed for %s, because this process or its machine was paused", renewDeadline)
	switch {
	case l.gone:
		why = "another replica holds it"
	case l.err != nil:
		why = fmt.Sprintf("it could not be renewed for %s, last because of: %v", renewDeadline, l.err)
	}
	return fmt.Errorf("%w %s: %s; this replica stops, and must be restarted, as the kubelet does for a Pod", ErrLost, e.lock.Describe(), why)
}

// release gives the lease up, if it is still ours. Where that fails, the others wait until
// it has run out.
func (e *Election) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	// The last renewal may be on its way still, and change the Lease in between.
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
		logger.Info("lease not released, another replica takes over when it expires", "after", leaseDuration.String(), "because", err.Error())
		return
	}
	logger.V(2).Info("lease released")
}
