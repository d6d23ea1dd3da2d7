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

// Addresses are the listen addresses of metrics and probes, such as ":8080"; empty is
// not served.
type Addresses struct {
	Metrics string // /metrics
	// MetricsSecure is whether /metrics is served over TLS, and only to clients that the API server allows
	// to get it.
	MetricsSecure bool
	// MetricsCertDir is the folder with the certificate for that; empty = it is self-made.
	MetricsCertDir string
	Health         string // /healthz and /readyz
	Pprof          string // /debug/pprof/
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
	guard     *access.Guard // of the metrics; nil = everybody may read them
	servers   []*serve.Server
}

func newView(addresses Addresses) *view {
	v := &view{addresses: addresses, now: time.Now, ready: &health.Ready{}}
	if addresses.Metrics != "" {
		v.registry = metrics.New()
	}
	return v
}

// secure creates the authentication of the metrics, if they are secured. Every replica reviews its clients, so
// config is one that may write without the lease.
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

// open starts the servers; ctx ends when the operator is stopped. The error names the address that
// cannot be used; no server is left then.
func (v *view) open(ctx context.Context, p parts) error {
	if v.registry != nil {
		v.registry.Watches(p.watches.States, v.now)
	}
	v.ready.Stopping, v.ready.Watches, v.ready.Pending = ctx, p.watches.States, p.manage.Pending
	for _, s := range []serve.Options{
		v.metrics(ctx), {Name: "health", Address: v.addresses.Health, Handler: v.health(p)}, {Name: "pprof", Address: v.addresses.Pprof, Handler: serve.Profiles()},
	} {
		if s.Address == "" {
			continue
		}
		server, err := serve.Listen(ctx, s)
		if err != nil {
			v.close(ctx)
			return fmt.Errorf("set another --%s-address: %w", s.Name, err)
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

// metrics returns how /metrics is served.
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

// ask returns nil when the API server says that it works, or that the operator may not ask.
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
