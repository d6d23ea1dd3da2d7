package tracing_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/operator/tracing"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// variables are the OTEL_ variables that matter here. Tests unset those of the environment.
var variables = []string{
	"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL",
	"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_TRACES_SAMPLER", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES",
}

func setEnvironment(t *testing.T, env map[string]string) {
	t.Helper()
	for _, name := range variables {
		t.Setenv(name, env[name])
	}
}

func TestEnvironmentEnablesTraces(t *testing.T) {
	const endpoint = "http://localhost:4318"
	for why, test := range map[string]struct {
		env  map[string]string
		on   bool
		text string // part of the error
	}{
		"off by default":                 {},
		"an endpoint is enough":          {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, on: true},
		"an endpoint of traces, too":     {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint}, on: true},
		"the default endpoint":           {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, on: true},
		"no exporter":                    {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_TRACES_EXPORTER": "none"}},
		"the SDK is disabled":            {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_SDK_DISABLED": "TRUE"}},
		"another exporter":               {env: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, text: `OTEL_TRACES_EXPORTER is "zipkin", but only otlp and none are supported`},
		"gRPC":                           {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, text: "use port 4318"},
		"invalid attributes":             {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_RESOURCE_ATTRIBUTES": "novalue"}, text: "OTEL_RESOURCE_ATTRIBUTES"},
		"gRPC is overridden for traces":  {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}, on: true},
		"gRPC does not matter while off": {env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}},
	} {
		t.Run(why, func(t *testing.T) {
			setEnvironment(t, test.env)
			traces, err := tracing.FromEnvironment(t.Context())
			if err == nil {
				t.Cleanup(func() { traces.Close(t.Context()) })
			}
			if on := traces.Tracer() != nil; on != test.on || (err != nil) != (test.text != "") || err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("traces %v, error %v", on, err)
			}
		})
	}
}

func TestDisabledTracesChangeNoClient(t *testing.T) {
	setEnvironment(t, nil)
	traces, err := tracing.FromEnvironment(t.Context())
	config := &rest.Config{}
	if err != nil || traces.Requests(config) != config {
		t.Errorf("the config was changed, or error %v", err)
	}
	traces.Close(t.Context())
}

// collector receives spans. stop returns them.
func collector(t *testing.T) (url string, stop func() *collectorv1.ExportTraceServiceRequest) {
	t.Helper()
	received := &collectorv1.ExportTraceServiceRequest{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.UnmarshalOptions{Merge: true}.Unmarshal(body, received)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	return server.URL, func() *collectorv1.ExportTraceServiceRequest {
		server.Close()
		return received
	}
}

func TestCollectorReceivesRequestsOfSpans(t *testing.T) {
	url, stop := collector(t)
	setEnvironment(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_SERVICE_NAME": "shop-templater", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test"})
	traces, err := tracing.FromEnvironment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var parents []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parents = append(parents, r.Header.Get("Traceparent"))
		w.Header().Set("Content-Type", "application/json")
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = io.WriteString(w, `{"apiVersion": "v1", "kind": "List", "metadata": {}, "items": []}`)
	}))
	client, err := kube.NewClient(traces.Requests(&rest.Config{Host: server.URL}))
	if err != nil {
		t.Fatal(err)
	}
	at := reconciletest.ConfigMap("one")
	list := func(ctx context.Context) {
		if _, err := client.List(ctx, at.Resource, at.Namespace, metav1.ListOptions{LabelSelector: "team=s3cr3t"}); err != nil {
			t.Error(err)
		}
	}
	list(t.Context()) // outside of a span
	ctx, span := traces.Tracer().Start(t.Context(), "reconcile")
	list(ctx)
	if _, err := client.Apply(ctx, at, []byte(`{"data": {"password": "s3cr3t"}}`), "templater/s3cr3t"); err == nil {
		t.Error("forbidden, but no error")
	}
	server.Close()
	_, _ = client.Get(ctx, at) // no response
	span.End()
	traces.Close(t.Context())
	received := stop()

	if len(parents) != 3 || parents[0] != "" || !strings.Contains(parents[1], span.SpanContext().TraceID().String()) {
		t.Errorf("traceparent headers %q", parents)
	}
	if text := received.String(); strings.Contains(text, "s3cr3t") {
		t.Errorf("a value was sent: %s", text)
	}
	resource := map[string]string{}
	for _, a := range received.GetResourceSpans()[0].GetResource().GetAttributes() {
		resource[a.GetKey()] = a.GetValue().GetStringValue()
	}
	if resource["service.name"] != "shop-templater" || resource["service.version"] == "" || resource["deployment.environment.name"] != "test" {
		t.Errorf("resource %v", resource)
	}
	type seen struct {
		Name, Parent, Path string
		Code               int64
		Status             tracev1.Status_StatusCode
	}
	var got []seen
	root := received.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[3]
	for _, s := range received.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans() {
		one := seen{Name: s.GetName(), Status: s.GetStatus().GetCode()}
		if string(s.GetParentSpanId()) == string(root.GetSpanId()) {
			one.Parent = root.GetName()
		}
		for _, a := range s.GetAttributes() {
			switch a.GetKey() {
			case "url.path":
				one.Path = a.GetValue().GetStringValue()
			case "http.response.status_code":
				one.Code = a.GetValue().GetIntValue()
			}
		}
		got = append(got, one)
	}
	want := []seen{
		{Name: "GET", Parent: "reconcile", Path: "/api/v1/namespaces/ns/configmaps", Code: 200},
		{Name: "PATCH", Parent: "reconcile", Path: "/api/v1/namespaces/ns/configmaps/one", Code: 403, Status: tracev1.Status_STATUS_CODE_ERROR},
		{Name: "GET", Parent: "reconcile", Path: "/api/v1/namespaces/ns/configmaps/one", Status: tracev1.Status_STATUS_CODE_ERROR},
		{Name: "reconcile"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}
