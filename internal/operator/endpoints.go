package operator

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/access"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/controllers"
	"github.com/templater-dev/templater/internal/operator/health"
	"github.com/templater-dev/templater/internal/operator/metrics"
	"github.com/templater-dev/templater/internal/operator/serve"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// Addresses are the listen addresses of metrics and probes, such as ":8080". Endpoints with an empty address are not
// served.
type Addresses struct {
	Metrics string // /metrics
	// MetricsSecure: /metrics is served over TLS, and only to clients that the API server authorizes.
	MetricsSecure bool
	// MetricsCertDir is the directory with the certificate for MetricsSecure; empty = self-signed.
	MetricsCertDir string
	Health         string // /healthz and /readyz
	Pprof          string // /debug/pprof/
}

// askLimit is the timeout of the health check of the API server. It is less than the default timeout of a probe, 1 s.
const askLimit = 750 * time.Millisecond

// view serves the metrics and probes of the operator.
type view struct {
	addresses Addresses
	now       func() time.Time
	registry  *metrics.Registry // nil = no metrics
	ready     *health.Ready
	guard     *access.Guard // for metrics; nil = no authorization
	servers   []*serve.Server
}

func newView(addresses Addresses) *view {
	v := &view{addresses: addresses, now: time.Now, ready: &health.Ready{}}
	if addresses.Metrics != "" {
		v.registry = metrics.New()
	}
	return v
}

// secure sets up authentication and authorization of metrics clients, if MetricsSecure is set. Every replica reviews
// its clients, so config must be able to write without the lease.
func (v *view) secure(config *rest.Config) (err error) {
	if v.addresses.Metrics != "" && v.addresses.MetricsSecure {
		v.guard, err = access.New(config)
	}
	return err
}

func (v *view) meters() record.Meters {
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

// parts are the parts of the operator that metrics and probes report.
type parts struct {
	server     rest.Interface
	watches    *watch.Manager
	manage     *controllers.Controllers
	reconciler *reconcile.Reconciler
}

// open starts the servers. ctx is done when the operator is stopped. The error contains the address that cannot be
// used; no server is running then.
func (v *view) open(ctx context.Context, p parts) error {
	if v.registry != nil {
		v.registry.Watches(p.watches.States, v.now)
	}
	v.ready.Stopping, v.ready.Watches, v.ready.Pending = ctx, p.watches.States, p.manage.Pending
	for _, s := range []serve.Options{
		v.metrics(ctx), {Name: "health-probe", Address: v.addresses.Health, Handler: v.health(p)}, {Name: "pprof", Address: v.addresses.Pprof, Handler: serve.Profiles()},
	} {
		if s.Address == "" {
			continue
		}
		server, err := serve.Listen(ctx, s)
		if err != nil {
			v.close(ctx)
			return fmt.Errorf("set another --%s-bind-address: %w", s.Name, err)
		}
		v.servers = append(v.servers, server)
	}
	return nil
}

// close stops the servers.
func (v *view) close(ctx context.Context) {
	for _, s := range v.servers {
		s.Close(ctx)
	}
}

// metrics returns the options of the metrics server.
func (v *view) metrics(ctx context.Context) serve.Options {
	o := serve.Options{Name: "metrics", Address: v.addresses.Metrics}
	if v.registry == nil {
		return o
	}
	handler := v.registry.Handler()
	if v.guard != nil {
		handler = v.guard.Protect(handler)
		o.TLS = serve.NewCertificate(v.addresses.MetricsCertDir, klog.FromContext(ctx)).Config()
	}
	o.Handler = at("/metrics", handler)
	return o
}

func (v *view) health(p parts) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /readyz", v.ready)
	mux.Handle("GET /healthz", &health.Live{
		Watches: p.watches.States, Now: v.now,
		Work: func() []queue.Work { return append(p.manage.Busy(), p.reconciler.Busy()...) },
		Ask:  func(ctx context.Context) error { return ask(ctx, p.server) },
	})
	return mux
}

func at(path string, handler http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+path, handler)
	return mux
}

// ask returns nil if the API server is ready, or does not allow the operator to read /readyz.
func ask(ctx context.Context, server rest.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	code := 0
	result := server.Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).StatusCode(&code)
	if code == 0 || code >= http.StatusInternalServerError || code == http.StatusTooManyRequests {
		return fmt.Errorf("the API server does not respond (status %d): %w", code, result.Error())
	}
	return nil
}
