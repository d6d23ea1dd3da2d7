package controllers

import (
	"cmp"
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// releaseParents removes the finalizer from all parents of a TemplateController that is being deleted, some at a time, and returns what it
// waits for, nil when none has it any more. The error is to be retried.
func (f *finalizer) releaseParents(ctx context.Context, e *tracked, from *running.Controller) (*spec.Rejection, error) {
	if e.released {
		return nil, nil
	}
	if f.store.accounts && from.As == "" { // the operator changes nothing as itself
		return spec.Rejectf(v1.ReasonServiceAccountRequired, "being deleted: cannot remove the finalizer %s from parents: name a ServiceAccount in spec.serviceAccountRef that may patch them, or remove it from their metadata.finalizers, and then %s from that of this TemplateController", from.Finalizer, v1.FinalizerChildren), nil
	}
	if len(e.holders) == 0 {
		holders, waits, err := f.holders(ctx, e, from)
		if err != nil {
			waits = spec.Rejectf(v1.ReasonListFailed, "%s", problem.PublicReason(err))
		}
		if waits != nil {
			waits.Message = "being deleted: waiting until it can read the parents that have the finalizer " + from.Finalizer + ": " + waits.Message
			return waits, err
		}
		if e.holders, e.released = holders, len(holders) == 0; e.released { // none is added: all reconciliations have ended
			return nil, nil
		}
	}
	if from.Spec.Suspend {
		e.holders = nil // it may take long
		return spec.Rejectf(v1.ReasonSuspended, "being deleted: spec.suspend is true, so parents keep the finalizer %s: set it to false, or remove the finalizer from the parents", from.Finalizer), nil
	}
	refused, err := f.releaseSome(ctx, e, from)
	if refused == nil {
		refused = spec.Rejectf(v1.ReasonDeleting, "being deleted: removing the finalizer %s from its parents", from.Finalizer)
	}
	return refused, err
}

// releaseSome removes the finalizer from parents for a while, and queues the TemplateController again.
// It returns the first refusal, too; such parents are retried after the others.
func (f *finalizer) releaseSome(ctx context.Context, e *tracked, from *running.Controller) (refused *spec.Rejection, err error) {
	of, err := f.kindOfHolders(from)
	if err != nil {
		return nil, err
	}
	var errs []error
	for start, n := f.clock.Now(), 0; n < deletionsAtATime && len(e.holders) > 0 && f.clock.Since(start) < queue.Patience; n++ {
		if !f.store.MayPrune(ctx, from) {
			return refused, errors.Join(append(errs, errBehind)...) // it may be suspended by now
		}
		h := e.holders[0]
		e.holders = e.holders[1:]
		issue, err := releaseHolder(ctx, from, of, h)
		if err != nil {
			errs = append(errs, err)
			refused = cmp.Or(refused, issue)
			continue
		}
		klog.FromContext(ctx).V(2).Info("removed the finalizer of a parent: its TemplateController is being deleted", "controller", from.Name, "parent", h.Name.String())
	}
	if len(e.holders) > 0 || len(errs) == 0 {
		f.queue.Add(from.Name)
	}
	return refused, errors.Join(errs...)
}

// releaseHolder removes the finalizer from one object. The error deserves a retry, after the next list; a refusal is reported, too.
func releaseHolder(ctx context.Context, from *running.Controller, of kind.Kind, h request.Holder) (*spec.Rejection, error) {
	_, err := from.Cluster.SetFinalizers(ctx, running.Locate(of, h.Name), h.Version, h.Others)
	switch {
	case err == nil, request.MissingObject(err):
		return nil, nil
	case running.Stale(err):
		return nil, errBehind
	}
	reason, text := v1.ReasonDeleting, problem.PublicReason(err)
	if permissions.Denied(err) {
		reason = v1.ReasonForbidden
		text, _ = from.Rights.Missing(err, from.Rights.Claim(permissions.Holding, of, h.Name.Namespace))
	}
	issue := spec.Rejectf(reason, "being deleted: cannot remove the finalizer %s from %s: %s", from.Finalizer, child.ID{Kind: schema.GroupKind{Kind: of.Kind}, Name: h.Name}, text)
	return issue, errors.New(issue.Message)
}
