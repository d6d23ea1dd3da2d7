package reconcile

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/reconcile/announce"
	"github.com/templater-dev/templater/internal/reconcile/loop"
	"github.com/templater-dev/templater/internal/reconcile/measure"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/rights"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/tally"
	"github.com/templater-dev/templater/internal/reconcile/workers"
)

// Controllers are the TemplateControllers, as far as passes need them. They must be safe for concurrent use.
type Controllers interface {
	// Enter returns the running controller of that name, or nil, and what to call when the pass is over.
	Enter(name string) (*running.Controller, func())
	// Measure counts a pass, unless the TemplateController is gone.
	Measure(name string, outcome measure.Outcome, took time.Duration)
	// Miss notes kinds that templates ask for and the server does not have.
	Miss(name string, kinds []schema.GroupKind)
	// AddKinds has a controller take up kinds that it is about to create. The parent that needs them is looked at again once
	// they can be read.
	AddKinds(name string, kinds []schema.GroupVersionKind)
	// Count notes how a parent fares.
	Count(key queue.Key, now tally.Tally)
	// Left notes that there is no such parent any more: what it kept others from writing is free.
	Left(key queue.Key)
	Checks
}

// Checks report what a reconciliation may do now.
type Checks interface {
	// MayPrune reports whether a controller may delete. If not, it is worth asking again soon.
	MayPrune(ctx context.Context, by *running.Controller) bool
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

// Options are what a Reconciler works with. Much of it remembers something about parents from one pass to the next, so it must
// hear of it when a TemplateController is gone.
type Options struct {
	Controllers Controllers
	// LookAt has a TemplateController looked at before long.
	LookAt func(controller string)

	Clock    clock.PassiveClock
	Queue    queue.Queue // of the parents
	Failures *queue.RateLimiter
	Backlog  *queue.Backlog
	Turns    *queue.Turns
	Pacer    *queue.DeparturePacer
	Absences *queue.AbsentParents
	// Orphaning hears of parents from the watches.
	Orphaning *queue.OrphaningParents
	Attempts  *queue.Attempts
	Breaker   *loop.Breaker
	Events    *announce.Recorder
	// Rights looks up which rights are missing, while there are passes.
	Rights *rights.Tracker
	// Waiting are the parents that lack a permission.
	Waiting *rights.Waiting
	Logs    Logs

	// Workers is how many parents are worked on at a time; 0 counts as 1.
	Workers int
	Tracker *workers.Tracker // of these
	Memory  *workers.Memory
	// Grace is how long passes may take to end when there are to be no more.
	Grace time.Duration
}

// Reconciler keeps parents in step. It is safe for concurrent use; one parent of a
// controller is worked on by one goroutine at a time, as the queue sees to.
type Reconciler struct {
	controllers Controllers
	lookAt      func(controller string)
	clock       clock.PassiveClock
	queue       queue.Queue
	failures    *queue.RateLimiter // of the queue
	backlog     *queue.Backlog
	turns       *queue.Turns
	pacer       *queue.DeparturePacer
	absent      *queue.AbsentParents
	orphaning   *queue.OrphaningParents
	attempts    *queue.Attempts
	breaker     *loop.Breaker
	events      *announce.Recorder
	rights      *rights.Tracker
	waiting     *rights.Waiting
	logs        Logs
	workers     int
	tracker     *workers.Tracker
	memory      *workers.Memory
	grace       time.Duration
	settling    settling
}

// New returns a Reconciler, which works while it runs.
func New(o Options) *Reconciler {
	r := &Reconciler{
		controllers: o.Controllers, lookAt: o.LookAt, clock: o.Clock, queue: o.Queue, failures: o.Failures, backlog: o.Backlog, turns: o.Turns,
		pacer: o.Pacer, absent: o.Absences, orphaning: o.Orphaning, attempts: o.Attempts, breaker: o.Breaker, events: o.Events, rights: o.Rights, waiting: o.Waiting, logs: o.Logs, workers: max(o.Workers, 1),
		tracker: o.Tracker, memory: o.Memory, grace: o.Grace,
	}
	r.settling.begin(o.Clock.Now())
	return r
}
