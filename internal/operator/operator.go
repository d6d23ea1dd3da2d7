// Package operator wires the operator: it creates the clients, starts the
// watches, and runs the controllers until it is stopped.
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

// Options are what an operator runs with.
type Options struct {
	Config  *rest.Config
	Workers int // parents worked on at a time
	// RolloutWorkers is how many of these may be at parents whose TemplateController has changed.
	RolloutWorkers int
	ClassName      string        // of the TemplateControllers to serve
	Lease          *leader.Lease // to hold while working; nil = work without
	Serve          Addresses
	Webhook        Webhook
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
	definitions         = watch.Want{Resource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, Role: watch.Definition}
	templateControllers = watch.Want{Resource: v1.Resource, Role: watch.Controller}
)

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

// Run runs the operator until ctx ends. It returns when all reconciliations in progress have
// ended and the lease, if any, is released. The error says why it could not start, or
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

// handler dispatches the events of the watches: those of the Secret to the keeper of the keys, those of the webhook to it, and all others
// to the controllers.
type handler struct {
	*controllers.Controllers
	keeper  *sealKeeper
	webhook *webhook
	ctx     context.Context //nolint:containedctx // of the operator, for its logger
}

func (h *handler) Changed(want watch.Want, event watch.Event) {
	switch want.Role {
	case watch.Seal:
		h.keeper.Take(h.ctx, event.New)
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

// limited returns the config for clients that make no watches: none of their requests
// lasts for ever.
func limited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Timeout = kube.RequestLimit
	return config
}

// await returns when the caches of those wants have synced; meanwhile it logs what keeps them.
// The error is that of ctx.
func await(ctx context.Context, caches map[watch.Want]*watch.Cache, needed []watch.Want) error {
	said := ""
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		synced := true
		for _, want := range needed {
			cache := caches[want]
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
	code := request.Code(err)
	switch {
	case err == nil:
		return ""
	case apierrors.IsNotFound(err) && want == templateControllers:
		return "the CustomResourceDefinition of TemplateController is not installed: run kubectl apply -k config/crd"
	case apierrors.IsForbidden(err) && want.Role == watch.Seal:
		return "the operator is not allowed to list and watch Secret " + want.Namespace + "/" + sealSecret + ", which holds the seal keys: kubectl apply -k config/default grants it"
	case apierrors.IsForbidden(err):
		return "the operator is not allowed to list and watch " + want.Resource.GroupResource().String()
	case code != 0:
		return fmt.Sprintf("the API server returned %d", code)
	}
	return "the API server does not respond: " + err.Error()
}
