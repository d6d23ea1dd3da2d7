package deletion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// ReleaseParents removes the finalizer from all parents of a TemplateController that is being deleted, some at a time, and returns what it
// waits for, nil when none has it any more. The error is to be retried.
func (d *Deleter) ReleaseParents(ctx context.Context, p *Progress, from *running.Controller, in map[string]bool) (*spec.Rejection, error) {
	if p.Released {
		return nil, nil
	}
	if d.RequireAccount && from.As == "" { // the operator changes nothing as itself
		return spec.Rejectf(v1.ReasonServiceAccountRequired, "being deleted: cannot remove the finalizer %s from parents: name a ServiceAccount in spec.serviceAccountRef that may patch them, or remove it from their metadata.finalizers, and then %s from that of this TemplateController", from.Finalizer, v1.FinalizerChildren), nil
	}
	if len(p.holders) == 0 {
		holders, waits, err := Holders(ctx, from, in)
		if err != nil {
			waits = spec.Rejectf(v1.ReasonListFailed, "%s", problem.PublicReason(err))
		}
		if waits != nil {
			waits.Message = "being deleted: waiting until it can read the parents that have the finalizer " + from.Finalizer + ": " + waits.Message
			return waits, err
		}
		if p.holders, p.Released = holders, len(holders) == 0; p.Released { // none is added: all reconciliations have ended
			return nil, nil
		}
	}
	if from.Spec.Suspend {
		p.holders = nil // it may take long
		return spec.Rejectf(v1.ReasonSuspended, "being deleted: spec.suspend is true, so parents keep the finalizer %s: set it to false, or remove the finalizer from the parents", from.Finalizer), nil
	}
	refused, err := d.releaseSome(ctx, p, from)
	if refused == nil {
		refused = spec.Rejectf(v1.ReasonDeleting, "being deleted: removing the finalizer %s from its parents", from.Finalizer)
	}
	return refused, err
}

// releaseSome removes the finalizer from parents for a while, and queues the TemplateController again.
// It returns the first refusal, too; such parents are retried after the others.
func (d *Deleter) releaseSome(ctx context.Context, p *Progress, from *running.Controller) (refused *spec.Rejection, err error) {
	of, err := kindOfHolders(from)
	if err != nil {
		return nil, err
	}
	var errs []error
	for start, n := d.Clock.Now(), 0; n < DeletionsAtATime && len(p.holders) > 0 && d.Clock.Since(start) < queue.Patience; n++ {
		if !d.Controllers.MayPrune(ctx, from) {
			return refused, errors.Join(append(errs, store.ErrBehind)...) // it may be suspended by now
		}
		h := p.holders[0]
		p.holders = p.holders[1:]
		issue, err := releaseHolder(ctx, from, of, h)
		if err != nil {
			errs = append(errs, err)
			refused = cmp.Or(refused, issue)
			continue
		}
		klog.FromContext(ctx).V(2).Info("removed the finalizer of a parent: its TemplateController is being deleted", "controller", from.Name, "parent", h.Name.String())
	}
	if len(p.holders) > 0 || len(errs) == 0 {
		d.Queue.Add(from.Name)
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
		return nil, store.ErrBehind
	}
	reason, text := v1.ReasonDeleting, problem.PublicReason(err)
	if permissions.Denied(err) {
		reason = v1.ReasonForbidden
		text, _ = from.Rights.Missing(err, from.Rights.Claim(permissions.Holding, of, h.Name.Namespace))
	}
	issue := spec.Rejectf(reason, "being deleted: cannot remove the finalizer %s from %s: %s", from.Finalizer, child.ID{Kind: schema.GroupKind{Kind: of.Kind}, Name: h.Name}, text)
	return issue, errors.New(issue.Message)
}

// kindOfHolders returns the parents' kind, also where it is about to go.
func kindOfHolders(of *running.Controller) (kind.Kind, error) {
	found, err := running.ResolveServed(of.Kinds, of.GVK)
	if ending := kind.Ending(err); ending != nil {
		return *ending, nil
	}
	return found, err
}

// Holders asks the server for all objects that have the finalizer of a controller, be they its parents still or not. in are the namespaces
// that children may be in, nil = all.
func Holders(ctx context.Context, of *running.Controller, in map[string]bool) ([]request.Holder, *spec.Rejection, error) {
	parents, err := kindOfHolders(of)
	switch {
	case kind.Gone(err):
		return nil, nil, nil
	case kind.Missing(err):
		return nil, spec.Rejectf(v1.ReasonKindNotFound, "%s", err), nil
	case err != nil:
		return nil, spec.Rejectf(v1.ReasonListFailed, "API discovery failed: %s", problem.PublicReason(err)), nil
	}
	from := []string{""}
	switch watched := of.Spec.Watch.Namespaces; {
	case !parents.Namespaced || of.As == "":
	case in != nil:
		from = slices.Sorted(maps.Keys(in))
	case len(watched) > 0: // and children are read in all; there may be parents in namespaces that were watched before
		out, err := of.Cluster.Holders(ctx, parents.Resource, "", of.Finalizer)
		if err == nil {
			return out, nil, nil
		}
		if !permissions.Denied(err) {
			return nil, nil, fmt.Errorf("list parents of TemplateController %s: %w", of.Name, err)
		}
		from = watched // as far as its permissions go
	}
	var out []request.Holder
	for _, ns := range from {
		some, err := of.Cluster.Holders(ctx, parents.Resource, ns, of.Finalizer)
		if permissions.Denied(err) {
			text, _ := of.Rights.Missing(err, of.Rights.Claim(permissions.Parents, parents, ns))
			return nil, &spec.Rejection{Reason: v1.ReasonForbidden, Message: text}, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("list parents of TemplateController %s: %w", of.Name, err)
		}
		out = append(out, some...)
	}
	return out, nil, nil
}

// Strays returns the objects that have the finalizer and no longer match, once it is known which match.
func (d *Deleter) Strays(ctx context.Context, of *running.Controller, in map[string]bool) (strays []request.Holder, known bool, err error) {
	for _, cache := range of.Parents {
		if !cache.Synced() {
			return nil, false, nil // synced again when it has
		}
	}
	if of.Namespaces != nil && !of.Namespaces.Synced() {
		return nil, false, nil
	}
	holders, waits, err := Holders(ctx, of, in)
	if waits != nil {
		klog.FromContext(ctx).Info("cannot list parents that no longer match, will retry", "controller", of.Name, "reason", waits.Message)
		d.Queue.AddAfter(of.Name, permissions.BelievedFor)
		return nil, false, nil
	}
	return slices.DeleteFunc(holders, func(h request.Holder) bool { return of.Parent(h.Name) != nil }), true, err
}

// HoldersIn is Holders for a namespace that is no longer watched, and reports whether none has the finalizer, or none can be read.
func HoldersIn(ctx context.Context, of *running.Controller, namespace string) (holders []request.Holder, none bool) {
	parents, err := kindOfHolders(of)
	if err != nil {
		return nil, kind.Gone(err)
	}
	holders, err = of.Cluster.Holders(ctx, parents.Resource, namespace, of.Finalizer)
	if permissions.Denied(err) {
		klog.FromContext(ctx).Info("leaving parents in a namespace that is no longer watched: not allowed to read them", "controller", of.Name, "namespace", namespace, "user", of.As)
		return nil, true
	}
	return holders, err == nil && len(holders) == 0
}
