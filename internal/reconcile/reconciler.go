package reconcile

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// Controllers are the TemplateControllers, as far as reconciliations need them. They must be safe for concurrent use.
type Controllers interface {
	// Enter returns the running controller of that name, or nil, and a function to call at the end of the reconciliation.
	Enter(name string) (*running.Controller, func())
	// Measure counts a reconciliation, unless the TemplateController was deleted.
	Measure(name string, outcome record.Outcome, took time.Duration)
	// Miss records kinds that templates yield and the server does not have.
	Miss(name string, kinds []schema.GroupKind)
	// AddKinds has a controller watch kinds that it is about to create. The parent that needs them is reconciled again once they can be
	// read.
	AddKinds(name string, kinds []schema.GroupVersionKind)
	// Count records the summary of a parent.
	Count(key queue.Key, now status.ParentSummary)
	// Left records that the parent no longer exists or matches. Other controllers may write the fields that it held.
	Left(key queue.Key)
	Checks
}

// Checks report what a reconciliation may do now.
type Checks interface {
	// MayPrune reports whether a controller may delete and release. If not, it is worth asking again soon.
	MayPrune(ctx context.Context, by *running.Controller) bool
	// Confirmed reports whether a parent is known as the API server has it. If not, it is worth asking again soon.
	Confirmed(ctx context.Context, by *running.Controller, parent *object.Object) bool
	// Unchanged asks the API server, and reports whether it has the TemplateController with the spec that the controller runs.
	Unchanged(ctx context.Context, by *running.Controller) bool
	// MayWrite reports whether a TemplateController of that name may write the status of a parent of that kind.
	MayWrite(name string, kind schema.GroupKind, parent types.NamespacedName) bool
}

// Logs reads the logs of Pods; *podlogs.Fetcher does, in the background.
type Logs interface {
	// Begin returns what one reconciliation reads logs by.
	Begin(key queue.Key, as string, refresh time.Duration) podlogs.Reading
	// Forget forgets the logs of a parent.
	Forget(key queue.Key)
}

// Options are what a Reconciler works with. The caller has those that remember something about parents forget a TemplateController that is
// deleted.
type Options struct {
	Controllers Controllers
	// SyncSoon syncs a TemplateController after a short delay.
	SyncSoon func(controller string)

	Clock    clock.PassiveClock
	Queue    queue.Queue // of the parents
	Failures *queue.RateLimiter
	Backlog  *queue.Backlog
	*queue.History
	Recorder *record.EventRecorder
	// Waiting are the parents that lack a permission.
	Waiting *permissions.Waiting
	Logs    Logs
	Memory  *queue.Memory
	Workers Workers
}

// Workers reconcile the parents in the queue while the Reconciler runs.
type Workers struct {
	// Number is how many parents are worked on at a time; 0 counts as 1.
	Number  int
	Turns   *queue.Turns
	Tracker *queue.WorkerTracker
	// Rights looks up meanwhile which permissions are missing.
	Rights *permissions.Tracker
	// Grace is how long reconciliations may go on after the Reconciler was stopped.
	Grace time.Duration
}

// Reconciler reconciles parents. It is safe for concurrent use. The queue sees to it that one goroutine at a time works on a parent
// of a controller.
type Reconciler struct {
	Options
	settling readiness.Settling
}

// New returns a Reconciler, which works while it runs.
func New(o Options) *Reconciler {
	o.Workers.Number = max(o.Workers.Number, 1)
	r := &Reconciler{Options: o}
	r.settling.Begin(o.Clock.Now())
	return r
}
