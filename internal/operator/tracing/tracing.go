// Package tracing sends OpenTelemetry spans of reconciliations, and of the requests that they send, to a collector.
package tracing

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/operator/version"
)

// Tracing records spans and sends them in the background. If the collector is too slow, spans are dropped. nil records none.
type Tracing struct{ provider *sdktrace.TracerProvider }

// closeLimit is how long Close waits for the collector. Together with the grace period of work in progress, it is less than the 30 s after
// which Kubernetes kills a Pod.
const closeLimit = 2 * time.Second

// FromEnvironment returns the Tracing that the OTEL_ variables configure, or nil if they enable none. It returns an error if they ask for
// something that is not supported.
func FromEnvironment(ctx context.Context) (*Tracing, error) {
	if on, err := enabled(); !on {
		return nil, err
	}
	log := klog.FromContext(ctx)
	otel.SetLogger(log.V(4)) //nolint:contextcheck // the SDK has one logger
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error(err, "OpenTelemetry failed") }))
	of, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "templater"), attribute.String("service.version", version.Get().Version)),
		resource.WithFromEnv()) // later ones override earlier ones
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	return &Tracing{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(of))}, nil
}

// enabled reports whether the environment enables traces.
func enabled() (bool, error) {
	exporter := os.Getenv("OTEL_TRACES_EXPORTER")
	switch {
	case strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true"), exporter == "none":
		return false, nil
	case exporter == "" && first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") == "":
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q, but only otlp and none are supported", exporter)
	}
	if protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol == "grpc" {
		return false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q, but only http/protobuf and http/json are supported: use port 4318 of the collector", protocol)
	}
	return true, nil
}

// first returns the first of these variables that is set.
func first(names ...string) string {
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			return value
		}
	}
	return ""
}

const scope = "github.com/templater-dev/templater"

// Tracer returns the tracer of reconciliations, or nil.
func (t *Tracing) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer(scope)
}

// Requests returns a config whose clients record the requests that are part of a span.
func (t *Tracing) Requests(config *rest.Config) *rest.Config {
	if t == nil {
		return config
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return requests{next, t.Tracer()} })
	return config
}

// Close sends the remaining spans.
func (t *Tracing) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "some traces were not sent")
	}
}

// requests records spans of requests until their response begins.
type requests struct {
	http.RoundTripper
	tracer trace.Tracer
}

// RoundTrip sends the request with its trace context, which API servers with tracing understand. The query of a URL is not recorded, because
// selectors can contain values.
func (t requests) RoundTrip(r *http.Request) (*http.Response, error) {
	if !trace.SpanFromContext(r.Context()).IsRecording() {
		return t.RoundTripper.RoundTrip(r)
	}
	ctx, span := t.tracer.Start(r.Context(), r.Method, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("url.path", r.URL.Path)))
	defer span.End()
	r = r.Clone(ctx)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
	response, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		span.SetStatus(codes.Error, "")
		return response, err
	}
	span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
	if response.StatusCode >= http.StatusBadRequest {
		span.SetStatus(codes.Error, "")
	}
	return response, nil
}
