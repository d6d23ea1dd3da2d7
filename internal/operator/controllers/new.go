package controllers

import (
	"runtime"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/operator/controllers/crds"
	"github.com/templater-dev/templater/internal/operator/controllers/deletion"
	"github.com/templater-dev/templater/internal/operator/controllers/quota"
	"github.com/templater-dev/templater/internal/operator/controllers/revisions"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/preflight"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/related"
)

// Options configure New. Each is a setting, or a dependency that tests replace.
type Options struct {
	// Cluster returns the client that impersonates a user; "" is the operator itself.
	Cluster func(as string) controller.Client
	// Revisions: TemplateRevisions are kept, and new revisions are rolled out as spec.rollout defines. Otherwise, each accepted spec reaches all
	// parents at once.
	Revisions bool
	// DryRuns returns the client that impersonates a user, and whose writes are dry runs; nil = new revisions are not tried.
	DryRuns func(as string) controller.Client
	// Logs returns the reader of logs that impersonates a user.
	Logs func(as string) podlogs.Reader
	// Events publishes Events about parents.
	Events record.EventPublisher
	// Clock returns the time.
	Clock clock.PassiveClock
	// Workers is the number of concurrent reconciliations of parents; 0 counts as 1.
	Workers int
	// RolloutWorkers is how many of these may reconcile parents because their TemplateController changed, or the
	// operator started; 0 counts as 1.
	RolloutWorkers int
	// Meters has the metrics of reconciliations, and QueueMetrics those of the queues "parents" and "controllers"; nil
	// means no metrics.
	Meters       record.Meters
	QueueMetrics workqueue.MetricsProvider
	// ClassName is the class of the TemplateControllers that are served.
	ClassName string
	// Standby: nothing is written until Controllers.Lead is called.
	Standby bool
	// Seals holds the seal keys, which must be set before the first reconciliation.
	Seals *seal.Ring
	// RequireServiceAccount rejects TemplateControllers without a service account.
	RequireServiceAccount bool
	// Schemas are the schemas of objects; nil = none are known.
	Schemas Schemas
}

// New returns two parts that work together: Controllers for the TemplateControllers, and a Reconciler for their
// parents. Controllers is also the watch.Handler of the watches. Attach must be called before either runs.
func New(o Options) (*Controllers, *reconcile.Reconciler) {
	return newShared(o).join(o)
}

// shared is the state that both parts share.
type shared struct {
	*queue.History

	tenants     *queue.Tenants
	credit      *queue.Credit
	turns       *queue.FairQueue
	parents     queue.Queue
	failures    *queue.RateLimiter // of parents
	waiting     *permissions.Waiting
	controllers workqueue.TypedRateLimitingInterface[string]
	memory      *queue.Memory
	processors  *queue.Processors
	reconcilers *queue.WorkerTracker // of the workers that reconcile parents
	grace       time.Duration
}

func newShared(o Options) *shared {
	tenants := queue.NewTenants()
	credit := queue.NewCredit(o.Clock, o.RolloutWorkers, tenants)
	// One processor is left for short work, which processes watch events and responses: otherwise it would wait for
	// milliseconds at each step.
	processors := queue.NewProcessors(runtime.GOMAXPROCS(0)-1, tenants)
	s := &shared{
		tenants: tenants, credit: credit, turns: queue.NewFairQueue(max(o.Workers, 1), tenants, credit),
		History: queue.NewHistory(o.Clock), waiting: permissions.NewWaiting(),
		controllers: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](queue.FirstRetry, 30*time.Second),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "controllers", MetricsProvider: o.QueueMetrics}),
		memory: queue.NewMemory(debug.SetMemoryLimit(-1), tenants), processors: processors, reconcilers: queue.NewWorkerTracker(o.Clock, processors, credit),
		grace: stopGrace,
	}
	s.parents, s.failures = queue.New(o.QueueMetrics, s.turns)
	return s
}

// join creates the two parts.
func (s *shared) join(o Options) (*Controllers, *reconcile.Reconciler) {
	if o.Meters == nil {
		o.Meters = record.Discard{}
	}
	c := &Controllers{tracker: queue.NewWorkerTracker(o.Clock, s.processors, nil), reviewers: queue.NewWorkerTracker(o.Clock, s.processors, nil), shared: s.memory}
	memoryLimit := debug.SetMemoryLimit(-1)
	c.registry = &registry{
		clock: o.Clock, meters: o.Meters, tenants: s.tenants, selections: related.NewMemory(int(quota.MemoryOf(memoryLimit) / selectionShare)), queue: s.controllers,
		tracked: map[string]*tracked{}, first: map[string]struct{}{}, rivals: map[string]map[string]struct{}{},
	}
	c.requeuer = &requeuer{registry: c.registry, parents: s.parents, backlog: queue.NewBacklog(s.parents, o.RolloutWorkers)}
	c.checks = &checks{registry: c.registry, Store: &store.Store{Cluster: o.Cluster(""), Clock: o.Clock}, class: o.ClassName, accounts: o.RequireServiceAccount}
	c.standby.Store(o.Standby)
	if c.leads = make(chan struct{}); !o.Standby {
		close(c.leads)
	}
	c.compiler = &compiler{
		registry: c.registry, checks: c.checks, memory: quota.NewMemory(memoryLimit, s.tenants, s.controllers.Add),
		checker: &checker{RequireAccount: o.RequireServiceAccount, Schemas: o.Schemas, Lint: lint.Recheck},
	}
	if o.Revisions {
		c.revisions = &revisions.Store{Cluster: o.Cluster(""), Seals: o.Seals}
	}
	c.crds = &crds.Writer{Cluster: o.Cluster, Again: s.controllers.AddAfter}
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
	c.trials = newTrials(nil, s.tenants)
	if o.DryRuns != nil {
		c.trials.planner = preflight.New(preflight.Options{Client: o.DryRuns, Clock: o.Clock, Memory: s.memory, MayWrite: parents.MayWrite})
	}
	c.finalizer = &finalizer{
		registry: c.registry, requeuer: c.requeuer, checks: c.checks, reconcilers: s.reconcilers, grace: s.grace,
		deleter: &deletion.Deleter{Clock: o.Clock, Queue: s.controllers, Controllers: parents, RequireAccount: o.RequireServiceAccount},
	}
	c.eventHandler = &eventHandler{registry: c.registry, requeuer: c.requeuer, checks: c.checks, departed: departed, history: s.History, waiting: s.waiting, patience: lossPatience}
	c.logs = podlogs.New(podlogs.Options{
		Reader: o.Logs, Wake: s.parents.AddAfter, Changed: func(name string) { s.controllers.AddAfter(name, countsDelay) },
		Tenant: s.tenants.Name, Runs: c.runs, Charge: func(name string, took time.Duration) { s.credit.Charge(name, queue.Cost(took, 0)) },
	})
	c.memories, c.shares = []memory{s.History, s.waiting, c.events, c.logs}, []memory{c.watchShares, s.tenants, c.compiler.memory}
	return c, reconcile.New(reconcile.Options{
		Controllers: parents, SyncSoon: func(name string) { c.queue.AddAfter(name, countsDelay) },
		Clock: o.Clock, Queue: s.parents, Failures: s.failures, Backlog: c.backlog, History: s.History,
		Recorder: c.events, Waiting: s.waiting, Logs: c.logs, Memory: s.memory,
		Workers: reconcile.Workers{Number: o.Workers, FairQueue: s.turns, Rights: c.rights, Tracker: s.reconcilers, Grace: s.grace},
	})
}

// kindSource resolves kinds, and finds their CustomResourceDefinitions. A kind.Resolver implements it.
type kindSource interface {
	controller.Resolver
	Definitions(gk schema.GroupKind) []*object.Object
}

// Attach sets the data sources of Controllers: the watch manager, the caches of TemplateControllers and NamespacedTemplateControllers,
// and the kinds of the API server. It enqueues all TemplateControllers.
func (c *Controllers) Attach(watches watcher, caches [2]*watch.Cache, kinds kindSource) {
	c.watches, c.Caches, c.kinds, c.crds.Definitions = watches, caches, kinds, kinds.Definitions
	c.Each(func(o *object.Object) {
		c.first[store.KeyOf(o)] = struct{}{}
	})
	c.admitAll()
	c.enqueueControllers()
}

// Close shuts down the queues of both parts, even if they never ran.
func (c *Controllers) Close() {
	c.queue.ShutDown()
	c.parents.ShutDown()
	c.rights.ShutDown()
	c.logs.Close()
}
