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
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// ReleaseParents removes the finalizer from all parents of a TemplateController that is being deleted, in batches. It
// returns what it waits for, or nil when no parent has it anymore. The caller must retry on an error.
func (d *Deleter) ReleaseParents(ctx context.Context, p *Progress, from *controller.Controller, in map[string]bool) (*spec.Rejection, error) {
	if p.Released {
		return nil, nil
	}
	if d.RequireAccount && from.As == "" { // the operator must not change anything as itself
		return spec.Rejectf(v1.ReasonServiceAccountRequired, "being deleted: cannot remove the finalizer %s from parents without a service account: set spec.serviceAccountRef to a ServiceAccount that is allowed to patch the parents, or remove that finalizer from each parent, and then the finalizer %s from this TemplateController", from.Finalizer, v1.FinalizerChildren), nil
	}
	if len(p.holders) == 0 {
		holders, waits, err := Holders(ctx, from, in)
		if err != nil {
			waits = spec.Rejectf(v1.ReasonListFailed, "%s", problem.PublicReason(err))
		}
		if waits != nil {
			waits.Message = "being deleted: waiting to list the parents that have the finalizer " + from.Finalizer + ": " + waits.Message
			return waits, err
		}
		if p.holders, p.Released = holders, len(holders) == 0; p.Released { // no parent gets it anymore: all reconciliations have ended
			return nil, nil
		}
	}
	if from.Spec.Suspend {
		p.holders = nil // list again after the suspension, which may take long
		return spec.Rejectf(v1.ReasonSuspended, "being deleted: spec.suspend is true, so parents keep the finalizer %s: set it to false, or remove the finalizer from the parents", from.Finalizer), nil
	}
	refused, err := d.releaseSome(ctx, p, from)
	if refused == nil {
		refused = spec.Rejectf(v1.ReasonDeleting, "being deleted: removing the finalizer %s from its parents", from.Finalizer)
	}
	return refused, err
}

// releaseSome removes the finalizer from a batch of parents, and enqueues the TemplateController again. It also returns
// the first rejection; rejected parents are retried after the others.
func (d *Deleter) releaseSome(ctx context.Context, p *Progress, from *controller.Controller) (refused *spec.Rejection, err error) {
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

// releaseHolder removes the finalizer from one object. On an error, the caller must list and retry; a rejection is also
// returned for the status.
func releaseHolder(ctx context.Context, from *controller.Controller, of kind.Kind, h request.Holder) (*spec.Rejection, error) {
	_, err := from.Cluster.SetFinalizers(ctx, controller.Locate(of, h.Name), h.Version, h.Others)
	switch {
	case err == nil, request.MissingObject(err):
		return nil, nil
	case controller.Stale(err):
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

// kindOfHolders returns the kind of the parents, even if its CRD is being deleted.
func kindOfHolders(of *controller.Controller) (kind.Kind, error) {
	found, err := controller.ResolveServed(of.Kinds, of.GVK)
	if ending := kind.TerminatingKind(err); ending != nil {
		return *ending, nil
	}
	return found, err
}

// Holders lists all objects that have the finalizer of a controller, whether or not they are still its parents. in are
// the namespaces that children may be in; nil = all.
func Holders(ctx context.Context, of *controller.Controller, in map[string]bool) ([]request.Holder, *spec.Rejection, error) {
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
	case len(watched) > 0: // children are read in all namespaces, and there may be parents in namespaces that were watched before
		out, err := listHolders(ctx, of, parents, "")
		if err == nil {
			return out, nil, nil
		}
		if !permissions.Denied(err) {
			return nil, nil, fmt.Errorf("list parents of %s: %w", v1.Describe(of.Name), err)
		}
		from = watched // as far as it has permissions
	}
	var out []request.Holder
	for _, ns := range from {
		some, err := listHolders(ctx, of, parents, ns)
		if permissions.Denied(err) {
			text, _ := of.Rights.Missing(err, of.Rights.Claim(permissions.Parents, parents, ns))
			return nil, &spec.Rejection{Reason: v1.ReasonForbidden, Message: text}, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("list parents of %s: %w", v1.Describe(of.Name), err)
		}
		out = append(out, some...)
	}
	return out, nil, nil
}

// listHolders lists the objects in a namespace that have the finalizer; "" = all namespaces.
func listHolders(ctx context.Context, of *controller.Controller, parents kind.Kind, namespace string) (out []request.Holder, err error) {
	err = of.Cluster.Each(ctx, parents.Resource, namespace, func(o *object.Object) {
		if h, holds := request.HolderOf(o, of.Finalizer); holds {
			out = append(out, h)
		}
	})
	return out, err
}

// Strays returns the objects that have the finalizer but no longer match. known is false while it is unknown which
// match.
func (d *Deleter) Strays(ctx context.Context, of *controller.Controller, in map[string]bool) (strays []request.Holder, known bool, err error) {
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
		d.Queue.AddAfter(of.Name, permissions.CacheTTL)
		return nil, false, nil
	}
	return slices.DeleteFunc(holders, func(h request.Holder) bool { return of.Parent(h.Name) != nil }), true, err
}

// HoldersIn is Holders for a namespace that is no longer watched. none is true if no object has the finalizer, or
// listing them is forbidden.
func HoldersIn(ctx context.Context, of *controller.Controller, namespace string) (holders []request.Holder, none bool) {
	parents, err := kindOfHolders(of)
	if err != nil {
		return nil, kind.Gone(err)
	}
	holders, err = listHolders(ctx, of, parents, namespace)
	if permissions.Denied(err) {
		klog.FromContext(ctx).Info("ignoring parents in a namespace that is no longer watched: no permission to list them", "controller", of.Name, "namespace", namespace, "user", of.As)
		return nil, true
	}
	return holders, err == nil && len(holders) == 0
}
