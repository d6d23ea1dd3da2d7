package controllers

import (
	"runtime"
	"runtime/debug"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/operator/controllers/deletion"
	"github.com/templater-dev/templater/internal/operator/controllers/quota"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// Options configure New. Each is a setting, or a part of the process that the tests replace.
type Options struct {
	// Cluster returns what makes the requests as that user; empty is the operator itself.
	Cluster func(as string) running.Client
	// Logs returns what reads logs as that user.
	Logs func(as string) podlogs.Reader
	// Events publishes Events on parents.
	Events record.EventPublisher
	// Clock returns the time.
	Clock clock.PassiveClock
	// Workers is how many parents are reconciled at a time; 0 counts as 1.
	Workers int
	// RolloutWorkers is how many of these may reconcile parents because their TemplateController
	// changed, or the operator started; 0 counts as 1.
	RolloutWorkers int
	// Meters has the metrics of the work, and QueueMetrics those of the queues, "parents" and "controllers"; nil is
	// none.
	Meters       record.Meters
	QueueMetrics workqueue.MetricsProvider
	// ClassName is the class of the TemplateControllers that are served.
	ClassName string
	// Standby is whether nothing is written until Controllers.Lead is called.
	Standby bool
	// Seals holds the keys, which must be set before the first reconciliation.
	Seals *seal.Ring
	// RequireServiceAccount is whether TemplateControllers are rejected that name no service account.
	RequireServiceAccount bool
	// Schemas say which fields objects have; nil is for where nothing is known of them.
	Schemas Schemas
}

// New returns the two halves that work together: Controllers for the
// TemplateControllers, a Reconciler for their parents. Controllers is also the
// watch.Handler of the watches; Attach must be called before either runs.
func New(o Options) (*Controllers, *reconcile.Reconciler) {
	return newShared(o).join(o)
}

// shared is what both halves work with.
type shared struct {
	*queue.History

	tenants     *queue.Tenants
	credit      *queue.Credit
	turns       *queue.Turns
	parents     queue.Queue
	failures    *queue.RateLimiter // of parents
	waiting     *permissions.Waiting
	controllers workqueue.TypedRateLimitingInterface[string]
	memory      *queue.Memory
	passing     *queue.WorkerTracker // the workers that reconcile parents
	grace       time.Duration
}

func newShared(o Options) *shared {
	tenants := queue.NewTenants()
	credit := queue.NewCredit(o.Clock, o.RolloutWorkers, tenants)
	s := &shared{
		tenants: tenants, credit: credit, turns: queue.NewTurns(max(o.Workers, 1), tenants, credit),
		History: queue.NewHistory(o.Clock), waiting: permissions.NewWaiting(),
		controllers: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](queue.FirstRetry, 30*time.Second),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "controllers", MetricsProvider: o.QueueMetrics}),
		memory: queue.NewMemory(debug.SetMemoryLimit(-1), tenants), passing: queue.NewWorkerTracker(o.Clock, renderers(tenants), credit),
		grace: stopGrace,
	}
	s.parents, s.failures = queue.New(o.QueueMetrics, s.turns)
	return s
}

// renderers are the processors for templates: all but one, which reads watches and responses meanwhile, and does short work.
func renderers(tenants *queue.Tenants) *queue.Processors {
	return queue.NewProcessors(runtime.GOMAXPROCS(0)-1, tenants)
}

// compilers are the processors for compilation, which gives way less often than templates do: one tenant leaves half of them to others.
func (s *shared) compilers() *queue.Processors {
	return queue.NewProcessors(max(2, runtime.GOMAXPROCS(0)), s.tenants)
}

// join makes the two halves.
func (s *shared) join(o Options) (*Controllers, *reconcile.Reconciler) {
	if o.Meters == nil {
		o.Meters = record.Discard{}
	}
	c := &Controllers{tracker: queue.NewWorkerTracker(o.Clock, s.compilers(), nil), shared: s.memory}
	memoryLimit := debug.SetMemoryLimit(-1)
	c.registry = &registry{
		clock: o.Clock, meters: o.Meters, tenants: s.tenants, selections: related.NewMemory(int(quota.MemoryOf(memoryLimit) / selectionShare)), queue: s.controllers,
		tracked: map[string]*tracked{}, first: map[string]struct{}{},
	}
	c.requeuer = &requeuer{registry: c.registry, parents: s.parents, backlog: queue.NewBacklog(s.parents, o.RolloutWorkers)}
	c.checks = &checks{registry: c.registry, Store: &store.Store{Cluster: o.Cluster(""), Clock: o.Clock}, class: o.ClassName, accounts: o.RequireServiceAccount}
	c.standby.Store(o.Standby)
	c.compiler = &compiler{
		registry: c.registry, checks: c.checks, memory: quota.NewMemory(memoryLimit, s.tenants, s.controllers.Add),
		checker: &checker{RequireAccount: o.RequireServiceAccount, Schemas: o.Schemas, Lint: lint.Recheck},
	}
	departed := &child.Departed{}
	c.builder = &builder{
		registry: c.registry, checks: c.checks, clusters: o.Cluster, seals: o.Seals, departed: departed, mayHave: openapi.MayHave(o.Schemas), watchShares: quota.NewWatches(s.controllers.Add),
		rights: permissions.NewTracker(func(user string) permissions.Reviewer { return o.Cluster(user) }, o.Clock, o.QueueMetrics, s.controllers.Add),
	}
	c.statusWriter = &statusWriter{
		registry: c.registry, checks: c.checks, requeuer: c.requeuer,
		events: record.NewEventRecorder(record.EventOptions{Events: o.Events, Clock: o.Clock, Parents: s.parents, Controllers: s.controllers, Delay: countsDelay}),
	}
	parents := reconciliations{c.registry, c.requeuer, c.checks}
	c.finalizer = &finalizer{
		registry: c.registry, requeuer: c.requeuer, checks: c.checks, passing: s.passing, grace: s.grace,
		deleter: &deletion.Deleter{Clock: o.Clock, Queue: s.controllers, Controllers: parents, RequireAccount: o.RequireServiceAccount},
	}
	c.eventHandler = &eventHandler{registry: c.registry, requeuer: c.requeuer, checks: c.checks, departed: departed, orphaning: s.Orphaning, patience: lossPatience}
	c.logs = podlogs.New(podlogs.Options{
		Reader: o.Logs, Wake: s.parents.AddAfter, Changed: func(name string) { s.controllers.AddAfter(name, countsDelay) },
		Tenant: s.tenants.Name, Runs: c.runs, Charge: func(name string, took time.Duration) { s.credit.Charge(name, queue.Cost(took, 0)) },
	})
	c.memories, c.shares = []memory{s.History, s.waiting, c.events, c.logs}, []memory{c.watchShares, s.tenants, c.compiler.memory}
	return c, reconcile.New(reconcile.Options{
		Controllers: parents, SyncSoon: func(name string) { c.queue.AddAfter(name, countsDelay) },
		Clock: o.Clock, Queue: s.parents, Failures: s.failures, Backlog: c.backlog, History: s.History,
		Recorder: c.events, Waiting: s.waiting, Logs: c.logs, Memory: s.memory,
		Workers: reconcile.Workers{Number: o.Workers, Turns: s.turns, Rights: c.rights, Tracker: s.passing, Grace: s.grace},
	})
}

// Attach sets what the Controllers read from: the watches that they set, the
// cache of TemplateControllers and the kinds of the server.
func (c *Controllers) Attach(watches watcher, templateControllers *watch.Cache, kinds running.Resolver) {
	c.watches, c.Cache, c.kinds = watches, templateControllers, kinds
	templateControllers.Each(func(o *object.Object) bool {
		c.first[o.Name()] = struct{}{}
		return true
	})
	c.admitAll()
	c.lookAtAll()
}

// Close ends the queues of both halves, also where neither has run.
func (c *Controllers) Close() {
	c.queue.ShutDown()
	c.parents.ShutDown()
	c.rights.ShutDown()
	c.logs.Close()
}
