package operator

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/templater-dev/templater/internal/health"
	"github.com/templater-dev/templater/internal/metrics"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/serve"
	"github.com/templater-dev/templater/internal/watch"
)

// Addresses are where the operator lets itself be looked at, such as ":8080"; empty is
// nowhere.
type Addresses struct {
	Metrics string // /metrics
	Health  string // /healthz and /readyz
	Pprof   string // /debug/pprof/
}

// askLimit is how long the API server may take to say that it works. It is less than the second
// that Kubernetes gives a probe by default.
const askLimit = 750 * time.Millisecond

// view is what others see of the operator.
type view struct {
	addresses Addresses
	now       func() time.Time
	registry  *metrics.Registry // nil = nothing is measured
	ready     *health.Ready
	servers   []*serve.Server
}

func newView(addresses Addresses) *view {
	v := &view{addresses: addresses, now: time.Now, ready: &health.Ready{}}
	if addresses.Metrics != "" {
		v.registry = metrics.New()
	}
	return v
}

func (v *view) meters() reconcile.Meters {
	if v.registry == nil {
		return nil
	}
	return v.registry.Meters()
}

func (v *view) queues() workqueue.MetricsProvider {
	if v.registry == nil {
		return nil
	}
	return v.registry.Queues()
}

// parts are the parts of the operator that are looked at.
type parts struct {
	server     rest.Interface
	watches    *watch.Manager
	manage     *reconcile.Controllers
	reconciler *reconcile.Reconciler
}

// open starts the servers; ctx ends when the operator is told to stop. The error says which address
// cannot be had; no server is left then.
func (v *view) open(ctx context.Context, p parts) error {
	if v.registry != nil {
		v.registry.Watches(p.watches.States, v.now)
	}
	v.ready.Stopping, v.ready.Watches, v.ready.Pending = ctx, p.watches.States, p.manage.Pending
	for _, s := range []struct {
		name, address string
		handler       func() http.Handler
	}{
		{"metrics", v.addresses.Metrics, func() http.Handler { return at("/metrics", v.registry.Handler()) }},
		{"health", v.addresses.Health, func() http.Handler { return v.health(p) }},
		{"pprof", v.addresses.Pprof, serve.Profiles},
	} {
		if s.address == "" {
			continue
		}
		server, err := serve.Listen(ctx, s.name, s.address, s.handler())
		if err != nil {
			v.close(ctx)
			return fmt.Errorf("give another --%s-address: %w", s.name, err)
		}
		v.servers = append(v.servers, server)
	}
	return nil
}

// close ends the servers.
func (v *view) close(ctx context.Context) {
	for _, s := range v.servers {
		s.Close(ctx)
	}
}

func (v *view) health(p parts) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /readyz", v.ready)
	mux.Handle("GET /healthz", &health.Live{
		Watches: p.watches.States, Now: v.now,
		Work: func() []reconcile.Work { return append(p.manage.Busy(), p.reconciler.Busy()...) },
		Ask:  func(ctx context.Context) error { return ask(ctx, p.server) },
	})
	return mux
}

func at(path string, handler http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+path, handler)
	return mux
}

// ask returns nil when the API server says that it works, or that the operator may not ask.
func ask(ctx context.Context, server rest.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	code := 0
	result := server.Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).StatusCode(&code)
	if code == 0 || code >= http.StatusInternalServerError || code == http.StatusTooManyRequests {
		return fmt.Errorf("the API server does not answer (status %d): %w", code, result.Error())
	}
	return nil
}
