package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/admission"
	"github.com/templater-dev/templater/internal/operator/controllers"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
)

// process is a running operator: the parts that its steps have created so far. Only the steps use all of them.
type process struct {
	Options
	election election
	stop     context.CancelFunc // stops the operator
	abort    context.CancelFunc // cancels all work
	closers  []func()           // undo the steps, in their order

	view       *view
	cluster    *kube.Client
	discovery  *discovery.DiscoveryClient
	schemas    *openapi.Cache
	ring       *seal.Ring
	manage     *controllers.Controllers
	reconciler *reconcile.Reconciler
	sealKeys   *sealKeyManager
	webhook    *webhook // nil = disabled
	watches    *watch.Manager
	caches     map[watch.Want]*watch.Cache // of the operator's own watches
}

// errStopped means that the operator was stopped before it started.
var errStopped = errors.New("stopped before startup")

// run runs the operator until ctx is done. All steps but the last only start things and do not block for long.
func run(ctx context.Context, o Options, election election) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	work, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	p := &process{Options: o, election: election, stop: stop, abort: abort, ring: &seal.Ring{}}
	defer p.close()
	for _, step := range []func(ctx, work context.Context) error{
		p.measure, // first, so that it includes the requests of the clients
		p.connect,
		p.makeControllers,
		p.makeWatches,
		p.openView,
		p.readOwn, // CRDs, TemplateControllers and the seal keys
		p.attach,
		p.workOn, // until the operator is stopped
	} {
		switch err := step(ctx, work); {
		case errors.Is(err, errStopped):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// close undoes the steps, in reverse order.
func (p *process) close() {
	for _, end := range slices.Backward(p.closers) {
		end()
	}
}

func (p *process) closing(end func()) { p.closers = append(p.closers, end) }

// measure creates the view.
func (p *process) measure(context.Context, context.Context) error {
	p.view = newView(p.Serve)
	return p.view.secure(limited(p.Config))
}

// connect creates the clients, which only write while this replica leads.
func (p *process) connect(context.Context, context.Context) (err error) {
	config := p.election.Guard(p.Config)
	if p.cluster, err = kube.NewClient(config); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	if p.discovery, err = discovery.NewDiscoveryClientForConfig(limited(config)); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	return nil
}

// makeControllers creates the controllers, the reconciler, and the publisher of Events.
func (p *process) makeControllers(_, work context.Context) error {
	p.schemas = p.newSchemas(work)
	announcer := kube.NewEventWriter(work, p.cluster)
	p.closing(announcer.Close)
	p.manage, p.reconciler = controllers.New(controllers.Options{
		Cluster: func(as string) controller.Client { return p.cluster.As(as) },
		DryRuns: func(as string) controller.Client { return p.cluster.As(as).DryRun() },
		Logs:    func(as string) podlogs.Reader { return p.cluster.As(as) },
		Events:  announcer, Clock: clock.RealClock{}, Workers: p.Workers, RolloutWorkers: p.RolloutWorkers, ClassName: p.ClassName, Standby: true, Seals: p.ring,
		Revisions: p.Revisions, RequireServiceAccount: p.RequireServiceAccount, Schemas: p.schemas, Meters: p.view.meters(), QueueMetrics: p.view.queues(),
	})
	p.closing(p.manage.Close)
	return nil
}

// newSchemas returns the cache of the schemas of kinds.
func (p *process) newSchemas(ctx context.Context) *openapi.Cache {
	return openapi.NewCache(openapi.CacheOptions{
		Reader: p.cluster, Clock: clock.RealClock{}, Logger: klog.FromContext(ctx),
		Definitions: func(gk schema.GroupKind) []*object.Object {
			if cache := p.caches[crds]; cache != nil { // no kind is resolved before it exists
				return cache.Definitions(gk)
			}
			return nil
		},
		Serve: func(gv schema.GroupVersion) bool {
			cache := p.caches[crds]
			return cache != nil && cache.Serve(gv)
		},
		Again: func(gk schema.GroupKind) { p.manage.KindLearned(gk) },
	})
}

// makeWatches creates the watch manager, the sealKeyManager and the webhook.
func (p *process) makeWatches(ctx, _ context.Context) error {
	p.sealKeys = newSealKeyManager(&sealKeyManager{
		Ring: p.ring, Namespace: cmp.Or(p.SealNamespace, DefaultSealNamespace), Outside: p.SealNamespace == "", Writer: p.cluster, Changed: p.manage.KeysChanged,
	})
	p.webhook = newWebhook(p.Options, p.cluster, &admission.Handler{Class: p.ClassName, Check: p.check, Refuse: p.manage.Refuse, Others: p.others, Begin: p.manage.Review, Reserve: p.manage.Reserve})
	p.watches = watch.NewManager(ctx, func(as string) watch.Client { return p.cluster.As(as) }, &handler{p.manage, p.sealKeys, p.webhook, ctx})
	p.watches.Trim(watch.Controller, store.Trim)
	return nil
}

// openView starts the servers of metrics and probes.
func (p *process) openView(ctx, _ context.Context) error {
	if err := p.view.open(ctx, parts{p.discovery.RESTClient(), p.watches, p.manage, p.reconciler}); err != nil {
		return err
	}
	p.closing(func() { p.view.close(ctx) })
	return nil
}

// readOwn starts the operator's own watches, and blocks until they have synced.
func (p *process) readOwn(ctx, _ context.Context) (err error) {
	needed := []watch.Want{crds, templateControllers, namespacedTemplateControllers, sealWant(p.sealKeys.Namespace)}
	p.caches, err = p.watches.Set("", append(needed, p.webhook.wants()...)) //nolint:contextcheck // the watches live as long as the manager, not as this call
	if err != nil {
		return err
	}
	p.closing(p.watches.Wait)
	p.webhook.attach(ctx, p.caches)
	if err := await(ctx, p.caches, needed); err != nil {
		return errStopped
	}
	return nil
}

// attach connects the controllers to the caches. From now on, the operator is ready.
func (p *process) attach(ctx, _ context.Context) error {
	keys := p.caches[sealWant(p.sealKeys.Namespace)]
	p.sealKeys.Take(ctx, keys.Get(types.NamespacedName{Namespace: p.sealKeys.Namespace, Name: sealSecret}))
	p.manage.Attach(p.watches, [2]*watch.Cache{p.caches[templateControllers], p.caches[namespacedTemplateControllers]}, kind.NewResolver(p.caches[crds], kube.NewDiscovery(p.discovery), time.Now))
	p.closing(p.webhook.open(ctx))
	p.view.ready.Begin()
	klog.FromContext(ctx).Info("running", "templateControllers", p.caches[templateControllers].Len(), "namespacedTemplateControllers", p.caches[namespacedTemplateControllers].Len())
	return nil
}

// workOn does the work, and writes while this replica leads. It returns when all running reconciliations have finished
// and the lease is released. The error is that of the election.
func (p *process) workOn(ctx, work context.Context) error {
	term, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	result, leading := make(chan error, 1), make(chan struct{})
	var keeping sync.WaitGroup
	defer keeping.Wait()
	go func() {
		err := p.election.Run(term, func() { close(leading) })
		p.stop()
		p.abort()
		result <- err
	}()
	keeping.Go(func() {
		select {
		case <-ctx.Done():
			return
		case <-leading:
		}
		klog.FromContext(ctx).Info("leading", "class", p.ClassName)
		keeping.Go(func() { p.webhook.keep(ctx) })
		p.sealKeys.Keep(ctx, p.manage.Lead)
	})
	var workers sync.WaitGroup
	workers.Go(func() { p.manage.Run(ctx, work) })
	workers.Go(func() { p.reconciler.Run(ctx, work) })
	workers.Wait()
	p.abort() // Events that are being published
	end()     // only now may another replica start
	err := <-result
	klog.FromContext(ctx).Info("stopped")
	return err
}
