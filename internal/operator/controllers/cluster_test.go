package controllers

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Short names of frequently used fixtures.
const (
	apps          = reconciletest.Apps
	managedApp    = reconciletest.ManagedApp
	releaseParent = reconciletest.ReleaseParent
	reporters     = reconciletest.Reporters
	robot         = reconciletest.Robot
	tenants       = reconciletest.Tenants
)

var (
	app            = reconciletest.App
	appsController = reconciletest.AppsController
	one            = reconciletest.One
	tenant         = reconciletest.Tenant

	asRobot       = reconciletest.AsRobot
	configMap     = reconciletest.ConfigMap
	configMapName = reconciletest.ConfigMapName
	denial        = reconciletest.Denial
	eventually    = reconciletest.Eventually
	finalized     = reconciletest.Finalized
	frontOnly     = reconciletest.FrontOnly
	invalid       = reconciletest.Invalid
	jobs          = reconciletest.Jobs
	keyOf         = reconciletest.KeyOf
	lengths       = reconciletest.Lengths
	locationOf    = reconciletest.LocationOf
	newApp        = reconciletest.NewApp
	statusOnly    = reconciletest.StatusOnly
	wantRequests  = reconciletest.WantRequests
	withChildren  = reconciletest.WithChildren
	withName      = reconciletest.WithName
	withSpec      = reconciletest.WithSpec
	withTemplate  = reconciletest.WithTemplate
	withText      = reconciletest.WithText
	withWatch     = reconciletest.WithWatch

	conflict = memserver.Conflict
	packed   = memserver.Pack
	parse    = memserver.Parse
	refusal  = memserver.Refusal
	with     = memserver.With
)

// cluster is an in-memory cluster with an operator.
type cluster struct {
	*reconciletest.Cluster
	controllers *Controllers
	shared      *shared
	strict      bool // a service account is required
	unrevised   bool // there are no revisions
	tries       bool // new revisions are tried with dry runs
	hasty       bool // reconciliations are canceled immediately when they must stop
	greedy      bool // only one reconciliation at a time may use memory
	room        int  // memory for compiled specs, in bytes; 0 = the default of the test process
	most        int  // NamespacedTemplateControllers of a namespace; 0 = maxNamespaced of package quota
}

// newCluster returns a cluster without TemplateControllers.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{Cluster: reconciletest.NewCluster(t)}
	c.Prepare = func(want watch.Want, cache *watch.Cache) {
		if want.Role == watch.Controller {
			cache.TrimBy(store.Trim)
		}
	}
	c.start()
	return c
}

// start creates a new operator, as after a restart.
func (c *cluster) start() { c.startWith(Options{}) }

// loseRevisions restarts the operator without TemplateRevisions, so that no earlier revision can run while the spec is rejected.
func (c *cluster) loseRevisions() {
	for at := range c.Objects {
		if at.Resource == v1.RevisionResource {
			delete(c.Objects, at)
		}
	}
	c.start()
}

// standby creates a new operator that does not lead.
func (c *cluster) standby() { c.startWith(Options{Standby: true}) }

func (c *cluster) startWith(o Options) {
	c.Watches.Reset()
	o.Logs, o.Revisions = c.Logs.As, !c.unrevised
	o.Cluster, o.Clock, o.RequireServiceAccount, o.Seals = serialized(c.As), c.Clock, c.strict, &seal.Ring{}
	if o.Events == nil {
		o.Events = c
	}
	if c.tries {
		o.DryRuns = func(user string) controller.Client {
			return reconciletest.AsUser(c.DryRun(), strings.TrimPrefix(user, spec.AccountPrefix), c.SetUser)
		}
	}
	o.Seals.Set(c.Keys)
	c.join(o)
	wants := []watch.Want{{Resource: v1.Resource, Role: watch.Controller}, {Resource: v1.NamespacedResource, Role: watch.Controller}}
	caches, err := c.Set("", wants)
	if err != nil {
		c.T.Fatal(err)
	}
	c.controllers.Attach(c, [2]*watch.Cache{caches[wants[0]], caches[wants[1]]}, c)
	if !o.Standby && o.Revisions {
		if err := c.controllers.sweepRevisions(c.T.Context()); err != nil {
			c.T.Fatal(err)
		}
	}
}

// serialized returns clients that send one request at a time: the fake API server is not safe for concurrent use.
func serialized(client func(user string) controller.Client) func(user string) controller.Client {
	var mu sync.Mutex
	return func(user string) controller.Client {
		return reconciletest.AsUser(client(user), "any", func(user string) {
			if user != "" {
				mu.Lock()
			} else {
				mu.Unlock()
			}
		})
	}
}

// join creates the parts of an operator, with queues that use the fake clock.
func (c *cluster) join(o Options) {
	s := newShared(o)
	if c.hasty {
		s.grace = 0
	}
	if c.greedy {
		s.memory = queue.NewMemory(0, s.tenants)
	}
	c.shared = s
	c.ParentQueue = reconciletest.NewTimed(s.parents, c.Clock, s.failures)
	c.ControllerQueue = reconciletest.NewTimed(s.controllers, c.Clock, workqueue.NewTypedItemExponentialFailureRateLimiter[string](queue.FirstRetry, 30*time.Second))
	s.parents, s.controllers = c.ParentQueue, c.ControllerQueue
	c.controllers, c.Reconciler = s.join(o)
	c.Rights, c.LogFetcher, c.Sync, c.Listener = c.controllers.rights, c.controllers.logs, c.sync, c.controllers
	c.StatusDelay = countsDelay
	c.controllers.patience = 0
	c.controllers.trials.begin = func(f func()) { f() }
	if c.room > 0 {
		c.controllers.memory.Limit = c.room
	}
	if c.most > 0 {
		c.controllers.memory.Most = c.most
	}
}

// sync syncs a TemplateController like a worker.
func (c *cluster) sync(name string) {
	err := c.controllers.Sync(c.T.Context(), name)
	if err != nil && len(c.Refuse) == 0 && !errors.Is(err, store.ErrBehind) {
		c.T.Fatal(err)
	}
	c.controllers.markSynced(name)
	c.controllers.again(c.T.Context(), name, err)
}

// begun returns a cluster with these objects after the first reconciliations.
func begun(t *testing.T, manifests ...string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.Begin(manifests...)
	return c
}

// settled returns a cluster with a TemplateController and its parent app that has settled.
func settled(t *testing.T, manifest string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.ApplyAndSettle(manifest)
	return c
}

// startDeletion deletes the TemplateController, which has finalizers.
func (c *cluster) startDeletion() {
	going := c.Find("templatecontrollers", "apps").DeepCopy()
	now := metav1.NewTime(c.Clock.Now())
	going.SetDeletionTimestamp(&now)
	c.Store(appsController, going)
	c.Deliver()
}

// parentCounts syncs apps, and returns status.parents.
func (c *cluster) parentCounts() string {
	c.T.Helper()
	c.controllers.queue.Add("apps")
	c.RunControllers()
	n, _, _ := unstructured.NestedMap(c.Find("templatecontrollers", "apps").Object, "status", "parents")
	return fmt.Sprint("total ", n["total"], ", ready ", n["ready"], ", failed ", n["failed"])
}

func TestFakeClusterHonorsFinalizers(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(app)
	one := c.Find("apps", "one")
	c.KubectlApply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns, finalizers: [x], ownerReferences: [{apiVersion: example.org/v1, kind: App, name: one, uid: " + string(one.GetUID()) + ", blockOwnerDeletion: true}]}")
	if err := c.Delete(t.Context(), locationOf(one), request.Deletion{UID: one.GetUID(), Propagation: metav1.DeletePropagationForeground}); err != nil {
		t.Fatal(err)
	}
	c.Settle()
	if c.Find("apps", "one") == nil || c.Find("configmaps", "a").GetDeletionTimestamp() == nil {
		t.Error("a foreground deletion waits for dependents, and has them deleted")
	}
	c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
	c.Settle()
	if len(c.Objects) > 0 {
		t.Errorf("%d objects are left", len(c.Objects))
	}
}

func TestSettleHonorsRequeue(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.Run()
	c.KubectlApply(app)
	edited := c.Find("apps", "one").DeepCopy()
	edited.SetAnnotations(map[string]string{"new": "yes"})
	c.Store(locationOf(edited), edited) // so that the first status write fails with a conflict
	wantRequests(t, "a watch that is behind", c.Run(), "create configmaps a", "create configmaps b", "status apps one")
	wantRequests(t, "once it is not", c.Settle(), "status apps one")
	if got, want := c.Condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

// through wraps the clients of the controllers.
func (c *cluster) through(wrap func(controller.Client) controller.Client) {
	c.controllers.clusters = func(as string) controller.Client { return wrap(c.As(as)) }
	c.controllers.Cluster = c.controllers.clusters("")
}
