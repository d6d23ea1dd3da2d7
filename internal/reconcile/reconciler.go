package reconcile

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// Controllers provides the TemplateControllers to reconciliations. It must be safe for concurrent use.
type Controllers interface {
	// Enter returns the running controller of that name, or nil, and a function to call after the reconciliation.
	Enter(name string) (*controller.Controller, func())
	// Measure counts a reconciliation, unless the TemplateController was deleted.
	Measure(name string, outcome record.Outcome, took time.Duration)
	// Miss records kinds that templates render but the API server does not serve.
	Miss(name string, kinds []schema.GroupKind)
	// AddKinds makes a controller watch kinds before it creates their first object. The parent that needs them is reconciled again once they can
	// be read.
	AddKinds(name string, kinds []schema.GroupVersionKind)
	// Count records the summary of a parent.
	Count(key queue.Key, now status.ParentSummary)
	// Left records that the parent no longer exists or matches, and releases its status fields to other TemplateControllers.
	Left(key queue.Key)
	Checks
}

// Checks report whether a reconciliation may proceed with certain writes.
type Checks interface {
	// MayPrune reports whether a controller may delete children and remove finalizers. If false, retry soon.
	MayPrune(ctx context.Context, by *controller.Controller) bool
	// Confirmed reports whether the cached parent is up to date. If false, retry soon.
	Confirmed(ctx context.Context, by *controller.Controller, parent *object.Object) bool
	// Unchanged reads the TemplateController from the API server and reports whether its spec is the running spec.
	Unchanged(ctx context.Context, by *controller.Controller) bool
	// MayWrite reports whether a TemplateController of that name may write the status of a parent of that kind.
	MayWrite(name string, kind schema.GroupKind, parent types.NamespacedName) bool
}

// Logs reads the logs of Pods in the background; *podlogs.Fetcher implements it.
type Logs interface {
	// Begin returns the log session of one reconciliation.
	Begin(key queue.Key, as string, refresh time.Duration) podlogs.Reading
	// Forget drops the logs of a parent.
	Forget(key queue.Key)
}

// Options configure a Reconciler. When a TemplateController is deleted, the caller must make the options that store data about parents forget
// it.
type Options struct {
	Controllers Controllers
	// SyncSoon syncs a TemplateController after a short delay.
	SyncSoon func(controller string)

	Clock    clock.PassiveClock
	Queue    queue.Queue // of parents
	Failures *queue.RateLimiter
	Backlog  *queue.Backlog
	*queue.History
	Recorder *record.EventRecorder
	// Waiting has the parents that lack a permission.
	Waiting *permissions.Waiting
	Logs    Logs
	Memory  *queue.Memory
	Workers Workers
}

// Workers configures how the parents in the queue are reconciled.
type Workers struct {
	// Number is the number of parents reconciled concurrently; 0 means 1.
	Number    int
	FairQueue *queue.FairQueue
	Tracker   *queue.WorkerTracker
	// Rights looks up missing permissions in the background.
	Rights *permissions.Tracker
	// Grace is how long reconciliations may continue after shutdown.
	Grace time.Duration
}

// Reconciler reconciles parents. It is safe for concurrent use. The queue ensures that each parent of a controller is processed by one goroutine
// at a time.
type Reconciler struct {
	Options
	settling readiness.Settling
	time     serverTime
}

// New returns a Reconciler. Call Run to start it.
func New(o Options) *Reconciler {
	o.Workers.Number = max(o.Workers.Number, 1)
	r := &Reconciler{Options: o}
	r.settling.Begin(o.Clock.Now())
	return r
}
