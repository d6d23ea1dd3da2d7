// Package deletion finalizes deleted TemplateControllers: it reports the deletion on the parents, deletes children
// according to whenDeleted, and removes the finalizer from the parents.
package deletion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Deleter does the cleanup before a TemplateController is deleted. It is safe for concurrent use for different
// TemplateControllers.
type Deleter struct {
	Clock clock.PassiveClock
	// Queue is the queue of TemplateControllers. A TemplateController is enqueued again while there is work left.
	Queue       workqueue.TypedRateLimitingInterface[string]
	Controllers reconcile.Controllers
	// RequireAccount: a TemplateController must have a service account.
	RequireAccount bool
}

// Progress is the progress of the deletion of a TemplateController.
type Progress struct {
	// Released: no parent has the finalizer anymore, according to the last sync of a TemplateController that does not
	// need it, or is being deleted.
	Released bool
	holders  []request.Holder // parents to remove the finalizer from
	report   report
}

// DeletionsAtATime is the batch size of deletions. After a batch, or after queue.Patience, the TemplateController is
// synced again, so that other work can run: it may have been suspended in the meantime.
const DeletionsAtATime = 100

// DeleteChildren deletes the children that are deleted with their TemplateController, in batches. Those of suspended parents are kept. It
// returns what it waits for, or nil when no children are left. The caller must retry on an error.
func (d *Deleter) DeleteChildren(ctx context.Context, from *controller.Controller) (waits *spec.Rejection, err error) {
	since := from.EverywhereSince()
	if !from.CompleteEverywhere() { // synced again when the caches have synced
		reason, message := from.ChildObstacle()
		if from.ChildrenReadable() { // a watch is between two requests, and no event reports when it runs again
			err = store.ErrBehind
		}
		return spec.Rejectf(reason, "being deleted: waiting to list its children: %s", message), err
	}
	suspended := map[types.UID]bool{}
	from.EachParent(func(o *object.Object) {
		if plan.IsSuspended(o) {
			suspended[o.UID()] = true
		}
	})
	var left, due []*child.Live
	from.EachChild(func(s controller.Source, o *object.Object) {
		l := from.Factory.Live(s.Kind, o)
		if suspended[l.ParentUID()] || !from.Factory.GoesWith(l, from.Spec.Children) {
			return
		}
		left = append(left, l)
		if !o.Deleting() {
			due = append(due, l)
		}
	})
	if len(left) == 0 {
		return nil, nil
	}
	if len(due) > 0 && (since == 0 || !d.Controllers.MayPrune(ctx, from)) {
		return nil, store.ErrBehind // it may be suspended by now, or have other policies
	}
	if len(due) > DeletionsAtATime { // rejected deletions must not block the others
		due = slices.Concat(due[rand.IntN(len(due)):], due)[:DeletionsAtATime] //nolint:gosec // keeps no secret
	}
	refused, err := d.deleteSome(ctx, decided{from, since}, due)
	if refused == nil {
		return &spec.Rejection{Reason: v1.ReasonDeleting, Message: child.Going(left)}, err
	}
	reason := v1.ReasonDeleting
	if refused.Reason == v1.ReasonChildForbidden {
		reason = v1.ReasonForbidden
	}
	return &spec.Rejection{Reason: reason, Message: "being deleted: " + refused.Message}, err
}

// decided is a TemplateController whose children are to be deleted, and the version of the data for that decision: see
// EverywhereSince.
type decided struct {
	*controller.Controller
	since uint64
}

// deleteSome deletes a batch of children, and enqueues the TemplateController again if it deleted some. It also returns
// the first rejected deletion.
func (d *Deleter) deleteSome(ctx context.Context, from decided, children []*child.Live) (refused *problem.Problem, err error) {
	var errs []error
	start, accepted := d.Clock.Now(), 0
	for _, l := range child.Sort(children) {
		if d.Clock.Since(start) >= queue.Patience {
			break
		}
		if from.EverywhereSince() != from.since || !d.Controllers.MayPrune(ctx, from.Controller) {
			return refused, errors.Join(append(errs, store.ErrBehind)...) // a watch has failed in the meantime, or there is a newer spec
		}
		done, issue := from.Delete(ctx, l, request.Deletion{Propagation: metav1.DeletePropagationBackground})
		if issue != nil {
			refused = cmp.Or(refused, issue)
			errs = append(errs, fmt.Errorf("%s: %s", v1.Describe(from.Name), issue.Message))
		}
		if !done {
			continue
		}
		accepted++
		klog.FromContext(ctx).Info("deleted a child of a TemplateController that is being deleted", "controller", from.Name, "child", l.ID().String())
	}
	if accepted > 0 {
		d.Queue.Add(from.Name) // until no more deletions are needed
	}
	return refused, errors.Join(errs...)
}
