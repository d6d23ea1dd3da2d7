package reconcile

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// traced is like reconcile, and records a span. Attributes contain names, and never values of objects.
func (r *Reconciler) traced(ctx context.Context, key queue.Key) Result {
	ctx, span := r.Tracer.Start(ctx, "reconcile", trace.WithAttributes(
		attribute.String("templater.controller", key.Controller),
		attribute.String("templater.parent.namespace", key.Parent.Namespace), attribute.String("templater.parent.name", key.Parent.Name)))
	outcome := record.Panicked // unless reconcile returns
	defer func() {             // a deferred span.End would record the text of a panic, which may contain values
		span.SetAttributes(attribute.Stringer("templater.result", outcome))
		if outcome >= record.Failed {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}()
	result := r.reconcile(ctx, key, nil)
	outcome = result.Outcome
	return result
}

// spanOfRender starts a span of rendering templates: what is "children" or "status".
func (r *Reconciler) spanOfRender(ctx context.Context, what string) trace.Span {
	if r.Tracer == nil {
		return noop.Span{}
	}
	_, span := r.Tracer.Start(ctx, "render", trace.WithAttributes(attribute.String("templater.templates", what)))
	return span
}
