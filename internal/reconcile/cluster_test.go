package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

const secret = "s3cr3t"

// Short names of what most tests use.
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

// cluster is a cluster in memory where TemplateControllers run: see controllers. At the end of a test, another reconciliation of each parent
// must change nothing.
type cluster struct {
	*reconciletest.Cluster
	controllers *controllers
	shared      *shared
	ends        []func() // what ends the queues
	restless    bool     // whether the end of the test leaves something to do
	greedy      bool     // whether only one reconciliation at a time may hold memory
}

// newCluster returns a cluster without TemplateControllers.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{Cluster: reconciletest.NewCluster(t)}
	c.start()
	t.Cleanup(c.end)
	return c
}

// start makes a new Reconciler, as after a restart. The kinds of children stay known: the status of a TemplateController has them.
func (c *cluster) start() {
	c.Watches.Reset()
	c.startControllers()
}

// begun returns a cluster with these objects, which are reconciled.
func begun(t *testing.T, manifests ...string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.Begin(manifests...)
	return c
}

// settled returns a cluster with a TemplateController and its parent app, which are settled.
func settled(t *testing.T, manifest string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.ApplyAndSettle(manifest)
	return c
}

// after lets time pass, has done what is due meanwhile, and returns the number of requests.
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

// parentCounts returns how many parents of apps there are, and how they fare.
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

// rest has the server accept all again, waits until nothing is left to do, and reconciles all parents once more, which changes nothing.
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
