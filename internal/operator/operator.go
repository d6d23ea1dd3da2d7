// Package operator puts the parts together: it makes the clients, starts the
// watches, and runs the controllers until it is told to stop.
package operator

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/kube/answers"
	"github.com/templater-dev/templater/internal/leader"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/seal"
	"github.com/templater-dev/templater/internal/watch"
)

// Options are what an operator runs with.
type Options struct {
	Config  *rest.Config
	Workers int // parents worked on at a time
	// RolloutWorkers is how many of these may be at parents whose TemplateController has changed.
	RolloutWorkers int
	ClassName      string        // of the TemplateControllers to serve
	Lease          *leader.Lease // to hold while working; nil = work without
	Serve          Addresses
	// RequireServiceAccount is whether TemplateControllers are rejected that name no service account.
	RequireServiceAccount bool
	// SealNamespace is that of the Secret with the keys of the seals; empty is templater-system, which is made where it is
	// missing.
	SealNamespace string
}

// DefaultSealNamespace is where the Secret with the keys of the seals is when the operator runs outside of the cluster.
const DefaultSealNamespace = "templater-system"

// What the operator itself watches, whatever TemplateControllers there are.
var (
	definitions = watch.Want{Resource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, Role: watch.Definition}
	controllers = watch.Want{Resource: v1.Resource, Role: watch.Controller}
)

// Config returns how to reach the cluster: by the kubeconfig and its context,
// else by $KUBECONFIG, else by ~/.kube/config, else as the Pod that this is.
// The client side does not throttle: the API server's priority and fairness
// decides.
func Config(kubeconfig, kubeContext string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: kubeContext}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to work with: give --kubeconfig, or set KUBECONFIG: %w", err)
	}
	config.QPS, config.Burst = -1, -1
	config.UserAgent = "templater"
	return config, nil
}

// election decides when this replica may write; leader.Election does.
type election interface {
	// Guard returns a config whose clients write only while this replica leads.
	Guard(config *rest.Config) *rest.Config
	// Run calls lead once this replica leads. It returns when ctx has ended, or earlier when all
	// work must end at once.
	Run(ctx context.Context, lead func()) error
}

// alone is the election of an operator that has no other replicas.
type alone struct{}

func (alone) Guard(config *rest.Config) *rest.Config { return config }

func (alone) Run(ctx context.Context, lead func()) error {
	lead()
	<-ctx.Done()
	return nil
}

// Run runs the operator until ctx ends. It returns when all passes under way are
// finished and the lease, if any, is released. The error says why it could not begin, or
// is leader.ErrLost when the lease was lost, which ends all work at once.
func Run(ctx context.Context, o Options) error {
	utilruntime.ReallyCrash = false // a panic in a goroutine of client-go is logged, and ends one request, not the operator
	o.Config = kube.WithoutWarnings(o.Config)
	if o.Lease == nil {
		return run(ctx, o, alone{})
	}
	election, err := leader.New(o.Config, *o.Lease)
	if err != nil {
		return err
	}
	return run(ctx, o, election)
}

// handler passes on what the watches tell: of the Secret to the keeper of the keys, of all else to the controllers.
type handler struct {
	*reconcile.Controllers
	keeper *seal.Keeper
	ctx    context.Context //nolint:containedctx // of the operator, for its logger
}

func (h *handler) Changed(want watch.Want, event watch.Event) {
	if want.Role == watch.Seal {
		h.keeper.Take(h.ctx, event.New)
		return
	}
	h.Controllers.Changed(want, event)
}

func run(ctx context.Context, o Options, election election) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	work, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	view := newView(o.Serve) // before the clients, whose requests it measures
	if err := view.secure(limited(o.Config)); err != nil {
		return err
	}
	config := election.Guard(o.Config)
	cluster, err := kube.NewClient(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(limited(config))
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	announcer := kube.NewAnnouncer(work, cluster)
	defer announcer.Close()
	ring := &seal.Ring{}
	manage, reconciler := reconcile.New(reconcile.Options{
		Cluster: func(as string) reconcile.Writer { return cluster.As(as) },
		Events:  announcer, Clock: clock.RealClock{}, Workers: o.Workers, RolloutWorkers: o.RolloutWorkers, ClassName: o.ClassName, Standby: true, Seals: ring,
		RequireServiceAccount: o.RequireServiceAccount, Meters: view.meters(), QueueMetrics: view.queues(),
	})
	defer manage.Close()
	keeper := seal.NewKeeper(&seal.Keeper{
		Ring: ring, Namespace: cmp.Or(o.SealNamespace, DefaultSealNamespace), Outside: o.SealNamespace == "", Writer: cluster, Changed: manage.KeysChanged,
	})
	watches := watch.NewManager(ctx, func(as string) watch.Client { return cluster.As(as) }, &handler{manage, keeper, ctx})
	if err := view.open(ctx, parts{client.RESTClient(), watches, manage, reconciler}); err != nil {
		return err
	}
	defer view.close(ctx)
	keys := seal.Want(keeper.Namespace)
	caches, err := watches.Set("", []watch.Want{definitions, controllers, keys}) //nolint:contextcheck // the watches live as long as the manager, not as this call
	if err != nil {
		return err
	}
	defer watches.Wait()
	if err := await(ctx, caches); err != nil {
		return nil // stopped before it began
	}
	keeper.Take(ctx, caches[keys].Get(types.NamespacedName{Namespace: keeper.Namespace, Name: seal.SecretName}))
	manage.Attach(watches, caches[controllers], kind.NewResolver(caches[definitions], kube.NewDiscovery(client), time.Now))
	view.ready.Begin()
	klog.FromContext(ctx).Info("running", "templateControllers", caches[controllers].Len())
	term, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	result := make(chan error, 1)
	var keeping sync.WaitGroup
	defer keeping.Wait()
	go func() {
		err := election.Run(term, func() {
			klog.FromContext(ctx).Info("leading", "class", o.ClassName)
			keeping.Go(func() { keeper.Keep(ctx, manage.Lead) })
		})
		stop()
		abort()
		result <- err
	}()
	var workers sync.WaitGroup
	workers.Go(func() { manage.Run(ctx, work) })
	workers.Go(func() { reconciler.Run(ctx, work) })
	workers.Wait()
	abort() // Events that are still on their way
	end()   // only now may another replica begin
	err = <-result
	klog.FromContext(ctx).Info("stopped")
	return err
}

// limited returns the config for clients that make no watches: none of their requests
// lasts for ever.
func limited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Timeout = kube.RequestLimit
	return config
}

// await returns when all caches have synced; meanwhile it logs what keeps them.
// The error is that of ctx.
func await(ctx context.Context, caches map[watch.Want]*watch.Cache) error {
	said := ""
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		synced := true
		for want, cache := range caches {
			synced = synced && cache.Synced()
			if text := obstacle(want, cache.Err()); text != "" && text != said {
				said = text
				klog.FromContext(ctx).Info("waiting", "for", want.String(), "because", text)
			}
		}
		return synced, nil
	})
}

func obstacle(want watch.Want, err error) string {
	code := answers.Code(err)
	switch {
	case err == nil:
		return ""
	case apierrors.IsNotFound(err) && want == controllers:
		return "the cluster does not know TemplateControllers: kubectl apply -k config/crd"
	case apierrors.IsForbidden(err) && want.Role == watch.Seal:
		return "the operator may not list and watch Secret " + want.Namespace + "/" + seal.SecretName + ", which holds the keys of the seals: kubectl apply -k config/default grants it"
	case apierrors.IsForbidden(err):
		return "the operator may not list and watch " + want.Resource.GroupResource().String()
	case code != 0:
		return fmt.Sprintf("the API server answers %d", code)
	}
	return "the API server does not answer: " + err.Error()
}
