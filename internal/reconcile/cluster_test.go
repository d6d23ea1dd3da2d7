package reconcile_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/related"
)

const secret = "s3cr3t"

// Short names for frequently used functions and constants.
const (
	apps           = reconciletest.Apps
	cleanupTimeout = reconciletest.CleanupTimeout
	readers        = reconciletest.Readers
	releaseParent  = reconciletest.ReleaseParent
	reporters      = reconciletest.Reporters
	shop           = reconciletest.Shop
	shopApp        = reconciletest.ShopApp
	tenants        = reconciletest.Tenants
)

var (
	app            = reconciletest.App
	appsController = reconciletest.AppsController
	clusterRole    = reconciletest.ClusterRole
	one            = reconciletest.One
	relatedJobs    = reconciletest.RelatedJobs
	tenant         = reconciletest.Tenant

	configMap     = reconciletest.ConfigMap
	configMapName = reconciletest.ConfigMapName
	farMap        = reconciletest.FarMap
	finalized     = reconciletest.Finalized
	frontOnly     = reconciletest.FrontOnly
	invalid       = reconciletest.Invalid
	job           = reconciletest.Job
	locationOf    = reconciletest.LocationOf
	newApp        = reconciletest.NewApp
	newTenant     = reconciletest.NewTenant
	reader        = reconciletest.Reader
	wantRequests  = reconciletest.WantRequests
	withBackup    = reconciletest.WithBackup
	withChildren  = reconciletest.WithChildren
	withSpec      = reconciletest.WithSpec
	withStatus    = reconciletest.WithStatus
	withStrategy  = reconciletest.WithStrategy
	withTemplate  = reconciletest.WithTemplate
	withText      = reconciletest.WithText
	withTier      = reconciletest.WithTier
	withWatch     = reconciletest.WithWatch

	conflict = memserver.Conflict
	notFound = memserver.NotFound
	packed   = memserver.Pack
	parse    = memserver.Parse
	refusal  = memserver.Refusal
	with     = memserver.With
)

// cluster is an in-memory cluster that runs TemplateControllers: see controllers. At the end of a test, another reconciliation of each parent
// must not change anything.
type cluster struct {
	*reconciletest.Cluster
	controllers *controllers
	shared      *shared
	ends        []func() // to shut down the queues
	restless    bool     // whether work is left at the end of the test
	greedy      bool     // whether only one reconciliation at a time may reserve memory
}

// newCluster returns a cluster without TemplateControllers.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{Cluster: reconciletest.NewCluster(t)}
	c.start()
	t.Cleanup(c.end)
	return c
}

// start creates a new Reconciler, as after a restart. The kinds of children remain known, because they are in the status of a
// TemplateController.
func (c *cluster) start() {
	c.Watches.Reset()
	c.startControllers()
}

// shared is the state that the Reconciler of a cluster keeps between reconciliations.
type shared struct {
	*queue.History
	tenants  *queue.Tenants
	failures *queue.RateLimiter
	backlog  *queue.Backlog
	recorder *record.EventRecorder
	rights   *permissions.Tracker
	waiting  *permissions.Waiting
	logs     *podlogs.Fetcher
	memory   *queue.Memory
	seals    *seal.Ring
}

// startControllers creates a Reconciler without state.
func (c *cluster) startControllers() {
	before := c.controllers
	tenants := queue.NewTenants()
	credit := queue.NewCredit(c.Clock, 1, tenants)
	turns := queue.NewFairQueue(1, tenants, credit)
	parents, failures := queue.New(nil, turns)
	names := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	c.ParentQueue, c.ControllerQueue = reconciletest.NewTimed(parents, c.Clock, failures), reconciletest.NewTimed(names, c.Clock, nil)
	c.controllers = &controllers{
		c: c, tracked: map[string]*tracked{}, departed: &child.Departed{}, meters: record.Discard{}, rooms: related.NewMemory(math.MaxInt),
	}
	limit := int64(math.MaxInt64)
	if c.greedy {
		limit = 0
	}
	c.shared = &shared{
		tenants: tenants, failures: failures, backlog: queue.NewBacklog(c.ParentQueue, 1), History: queue.NewHistory(c.Clock), waiting: permissions.NewWaiting(), memory: queue.NewMemory(limit, tenants), seals: &seal.Ring{},
		recorder: record.NewEventRecorder(record.EventOptions{Events: c, Clock: c.Clock, Parents: c.ParentQueue, Controllers: c.ControllerQueue}),
		rights:   permissions.NewTracker(func(user string) permissions.Reviewer { return c.As(user) }, c.Clock, nil, c.ControllerQueue.Add),
		logs: podlogs.New(podlogs.Options{
			Reader: c.Logs.As, Wake: c.ParentQueue.AddAfter, Changed: func(string) {}, Tenant: tenants.Name,
			Runs: func(string) bool { return true }, Charge: func(string, time.Duration) {},
		}),
	}
	c.ends = append(c.ends, parents.ShutDown, names.ShutDown, c.shared.rights.ShutDown, c.shared.logs.Close)
	c.shared.seals.Set(c.Keys)
	c.Reconciler = reconcile.New(reconcile.Options{
		Controllers: c.controllers, SyncSoon: c.ControllerQueue.Add, Clock: c.Clock, Queue: c.ParentQueue, Failures: failures, Backlog: c.shared.backlog, History: c.shared.History,
		Recorder: c.shared.recorder, Waiting: c.shared.waiting, Logs: c.shared.logs, Memory: c.shared.memory,
		Workers: reconcile.Workers{FairQueue: turns, Rights: c.shared.rights, Tracker: queue.NewWorkerTracker(c.Clock, queue.NewProcessors(1, tenants), credit)},
	})
	c.Rights, c.LogFetcher, c.Sync, c.Listener = c.shared.rights, c.shared.logs, c.controllers.sync, c.controllers
	if _, err := c.Set("", []watch.Want{templateControllers}); err != nil {
		c.T.Fatal(err)
	}
	c.Caches[templateControllers].Each(func(o *object.Object) bool {
		name := o.Name()
		c.controllers.track(name)
		if before != nil && before.tracked[name] != nil {
			c.controllers.tracked[name].childKinds, c.controllers.tracked[name].held = before.tracked[name].childKinds, before.tracked[name].held
		}
		c.ControllerQueue.Add(name)
		return true
	})
}

// begun returns a cluster with these objects, after their reconciliation.
func begun(t *testing.T, manifests ...string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.Begin(manifests...)
	return c
}

// settled returns a cluster with a TemplateController and its parent app, after reconciliations have settled.
func settled(t *testing.T, manifest string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.ApplyAndSettle(manifest)
	return c
}

// after advances the clock, runs everything that becomes due, and returns the number of requests.
func (c *cluster) after(d time.Duration) int {
	c.T.Helper()
	before, end := len(c.Requests), c.Clock.Now().Add(d)
	for {
		c.Run()
		c.Deliver()
		c.Run()
		next := c.ParentQueue.Next(func(queue.Key) bool { return false })
		if next.IsZero() || next.After(end) {
			c.Clock.SetTime(end)
			return len(c.Requests) - before
		}
		c.Clock.SetTime(next)
	}
}

// parentCounts returns the number of parents of apps, and their states.
func (c *cluster) parentCounts() string {
	n := c.controllers.tracked["apps"].counts.Parents
	return fmt.Sprintf("total %d, ready %d, failed %d", n.Total, n.Ready, n.Failed)
}

// end ends the test.
func (c *cluster) end() {
	c.rest()
	for _, end := range c.ends {
		end()
	}
}

// rest makes the API server accept all requests, waits until no work is left, and reconciles all parents once more. That must not change
// anything.
func (c *cluster) rest() {
	if c.T.Failed() || c.restless {
		return
	}
	clear(c.Refuse)
	clear(c.Lacks)
	c.During = nil
	c.Settle()
	version, before := c.Version, len(c.Requests)
	for name, e := range c.controllers.tracked {
		for _, parent := range e.current.ParentNames() {
			c.Reconciler.Reconcile(c.Context(), queue.Key{Controller: name, Parent: parent})
		}
	}
	if c.Version != version {
		c.T.Errorf("a reconciliation that has nothing to do makes the requests %q", c.Requests[before:])
	}
}
