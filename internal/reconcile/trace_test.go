package reconcile_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// traced records the spans of a cluster's reconciliations.
func traced(c *cluster) *tracetest.SpanRecorder {
	spans := tracetest.NewSpanRecorder()
	c.Reconciler.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
	return spans
}

// describeSpans returns the ended spans with their attributes, status and events.
func describeSpans(spans *tracetest.SpanRecorder) []string {
	ended := spans.Ended()
	var out []string
	for _, s := range ended {
		text := s.Name()
		for _, parent := range ended {
			if parent.SpanContext().SpanID() == s.Parent().SpanID() {
				text = parent.Name() + "/" + text
			}
		}
		for _, a := range s.Attributes() {
			text += fmt.Sprintf(" %s=%s", a.Key, a.Value.Emit())
		}
		if s.Status().Code != 0 {
			text += " " + s.Status().Code.String() + s.Status().Description
		}
		for _, e := range s.Events() {
			text += fmt.Sprint(" event ", e)
		}
		out = append(out, text)
	}
	return out
}

func TestReconciliationsAreTraced(t *testing.T) {
	c := newCluster(t)
	spans := traced(c)
	c.KubectlApply(apps)
	c.KubectlApply(newApp(withText(secret)))
	c.Run()
	want := []string{
		"reconcile/render templater.templates=children",
		"reconcile/render templater.templates=status",
		"reconcile templater.controller=apps templater.parent.namespace=ns templater.parent.name=one templater.result=success",
	}
	got := describeSpans(spans)
	if diff := cmp.Diff(want, got[max(0, len(got)-len(want)):]); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func TestTracesContainNoValues(t *testing.T) {
	c := newCluster(t)
	c.restless = true
	spans := traced(c)
	c.KubectlApply(apps)
	c.KubectlApply(newApp(withText(secret)))
	c.Refuse["create configmaps a"] = refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "data.text: Invalid value: "+secret)
	c.Run()
	c.controllers.get("apps").Spec = nil // panics
	c.ParentQueue.Add(reconciletest.KeyOf("apps", "one"))
	c.Reconciler.Next(t.Context(), t.Context(), func() {})
	got := describeSpans(spans)
	if text := strings.Join(got, "\n"); strings.Contains(text, secret) || strings.Contains(text, "event") {
		t.Errorf("spans contain a value or an exception:\n%s", text)
	}
	for _, result := range []string{"failed Error", "panic Error"} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, "templater.result="+result) }) {
			t.Errorf("no span with the result %s:\n%s", result, strings.Join(got, "\n"))
		}
	}
}

// BenchmarkReconcile measures a reconciliation that changes nothing.
func BenchmarkReconcile(b *testing.B) {
	klog.SetLogger(logr.Discard())
	defer klog.ClearLogger()
	for _, name := range []string{"NotTraced", "Traced"} {
		b.Run(name, func(b *testing.B) {
			c := newCluster(b)
			c.KubectlApply(apps)
			c.KubectlApply(app)
			c.Settle()
			if name == "Traced" {
				c.Reconciler.Tracer = sdktrace.NewTracerProvider().Tracer("bench")
			}
			key := reconciletest.KeyOf("apps", "one")
			b.ReportAllocs()
			for b.Loop() {
				c.Reconciler.Reconcile(b.Context(), key)
			}
		})
	}
}
