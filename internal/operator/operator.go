// Package operator wires the operator: it creates the clients, starts the watches, and runs the controllers until it is
// stopped.
package operator

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/kube/leader"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/controllers"
)

// Options configure an operator.
type Options struct {
	Config  *rest.Config
	Workers int // concurrent reconciliations of parents
	// RolloutWorkers is how many of these may reconcile parents because their TemplateController changed.
	RolloutWorkers int
	ClassName      string        // of the TemplateControllers to serve
	Lease          *leader.Lease // to hold while working; nil = no leader election
	Serve          Addresses
	Webhook        Webhook
	// Revisions: revisions of TemplateControllers are kept and rolled out.
	Revisions bool
	// RequireServiceAccount rejects TemplateControllers without a service account.
	RequireServiceAccount bool
	// SealNamespace is the namespace of the Secret with the seal keys. If empty, it is templater-system, which is
	// created if it does not exist.
	SealNamespace string
}

// DefaultSealNamespace is the namespace of the Secret with the seal keys when the operator runs outside a cluster.
const DefaultSealNamespace = "templater-system"

// Watches of the operator itself, independent of TemplateControllers.
var (
	crds                          = watch.Want{Resource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, Role: watch.Definition}
	templateControllers           = watch.Want{Resource: v1.Resource, Role: watch.Controller}
	namespacedTemplateControllers = watch.Want{Resource: v1.NamespacedResource, Role: watch.Controller}
)

// election decides when this replica may write. leader.Election implements it.
type election interface {
	// Guard returns a config whose clients only write while this replica leads.
	Guard(config *rest.Config) *rest.Config
	// Run calls lead once this replica leads. It returns when ctx is done, or earlier if all work must stop
	// immediately.
	Run(ctx context.Context, lead func()) error
}

// alone is the election of an operator without other replicas.
type alone struct{}

func (alone) Guard(config *rest.Config) *rest.Config { return config }

func (alone) Run(ctx context.Context, lead func()) error {
	lead()
	<-ctx.Done()
	return nil
}

// Run runs the operator until ctx is done. It returns when all running reconciliations have finished and the lease, if
// any, is released. It returns an error if the operator cannot start, or leader.ErrLost if the lease was lost, which
// stops all work immediately.
func Run(ctx context.Context, o Options) error {
	utilruntime.ReallyCrash = false // a panic in a goroutine of client-go is logged and aborts one request, not the operator
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

// handler dispatches watch events: those of the Secret to the sealKeyManager, those of the webhook's objects to the
// webhook, and all others to the controllers.
type handler struct {
	*controllers.Controllers
	sealKeys *sealKeyManager
	webhook  *webhook
	ctx      context.Context //nolint:containedctx // context of the operator, for its logger
}

func (h *handler) Changed(want watch.Want, event watch.Event) {
	switch want.Role {
	case watch.Seal:
		h.sealKeys.Take(h.ctx, event.New)
	case watch.Webhook:
		h.webhook.look(h.ctx)
	default:
		h.Controllers.Changed(want, event)
	}
}

func (h *handler) StateChanged(want watch.Want) {
	if want.Role == watch.Webhook {
		h.webhook.look(h.ctx)
		return
	}
	h.Controllers.StateChanged(want)
}

// limited returns the config for clients without watches: all their requests have a timeout.
func limited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Timeout = kube.RequestLimit
	return config
}

// await blocks until the caches of these wants have synced, and logs what they wait for. It returns an error if ctx is
// done first.
func await(ctx context.Context, caches map[watch.Want]*watch.Cache, needed []watch.Want) error {
	said := ""
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		synced := true
		for _, want := range needed {
			cache := caches[want]
			synced = synced && cache.Synced()
			if text := obstacle(want, cache.Err()); text != "" && text != said {
				said = text
				klog.FromContext(ctx).Info("waiting for the initial list", "watch", want.String(), "reason", text)
			}
		}
		return synced, nil
	})
}

func obstacle(want watch.Want, err error) string {
	code := request.Code(err)
	switch {
	case err == nil:
		return ""
	case apierrors.IsNotFound(err) && want.Role == watch.Controller:
		return "CustomResourceDefinition " + want.Resource.GroupResource().String() + " is not installed: run kubectl apply -k config/crd"
	case apierrors.IsForbidden(err) && want.Role == watch.Seal:
		return "the operator is not allowed to list and watch Secret " + want.Namespace + "/" + sealSecret + ", which holds the seal keys: kubectl apply -k config/default grants it"
	case apierrors.IsForbidden(err):
		return "the operator is not allowed to list and watch " + want.Resource.GroupResource().String()
	case code != 0:
		return fmt.Sprintf("the API server returned %d", code)
	}
	return "the API server does not respond: " + err.Error()
}
