// Package deletion does the work before a TemplateController is deleted: it reports that on the parents, deletes the children that are deleted
// with it, and removes the finalizer from the parents.
package deletion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Deleter does the work before a TemplateController is deleted. It is safe for concurrent use, but for one TemplateController at a time.
type Deleter struct {
	Clock clock.PassiveClock
	// Queue is that of the TemplateControllers. One is queued again while there is work left.
	Queue       workqueue.TypedRateLimitingInterface[string]
	Controllers reconcile.Controllers
	// RequireAccount is whether a TemplateController must name a service account.
	RequireAccount bool
}

// Progress is how far the deletion of a TemplateController is.
type Progress struct {
	// Released is whether no parent has the finalizer any more, by the last sync of a TemplateController that does not need it, or is deleted.
	Released bool
	holders  []request.Holder // parents to take the finalizer from
	report   report
}

// DeletionsAtATime is how many children are deleted before other work has its turn. Then, or when they take longer
// than patience, the TemplateController is synced again: it may be suspended meanwhile.
const DeletionsAtATime = 100

// DeleteChildren deletes the children that are deleted with their TemplateController, some at a time, and
// returns what it waits for, nil when none is left. The error is to be retried.
func (d *Deleter) DeleteChildren(ctx context.Context, from *running.Controller) (waits *spec.Rejection, err error) {
	since := from.EverywhereSince()
	if !from.CompleteEverywhere() { // synced again when the caches have synced
		reason, message := from.ChildObstacle()
		if from.ChildrenReadable() { // a watch is between two requests, and no event says when it runs again
			err = store.ErrBehind
		}
		return spec.Rejectf(reason, "being deleted: waiting until it can read its children: %s", message), err
	}
	var left, due []*child.Live
	from.EachChild(func(s running.Source, o *object.Object) {
		l := from.Factory.Live(s.Kind, o)
		if !from.Factory.GoesWith(l, from.Spec.Children) {
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
	if len(due) > DeletionsAtATime { // those that the server refuses must not block the others
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

// decided is a TemplateController whose children are to be deleted, and the data by which: see EverywhereSince.
type decided struct {
	*running.Controller
	since uint64
}

// deleteSome deletes children for a while, and queues the TemplateController again
// if it deleted some. It returns the first refusal, too.
func (d *Deleter) deleteSome(ctx context.Context, from decided, children []*child.Live) (refused *problem.Problem, err error) {
	var errs []error
	start, accepted := d.Clock.Now(), 0
	for _, l := range child.Sort(children) {
		if d.Clock.Since(start) >= queue.Patience {
			break
		}
		if from.EverywhereSince() != from.since || !d.Controllers.MayPrune(ctx, from.Controller) {
			return refused, errors.Join(append(errs, store.ErrBehind)...) // a watch has failed meanwhile, or there is a newer spec
		}
		done, issue := from.Delete(ctx, l, request.Deletion{Propagation: metav1.DeletePropagationBackground})
		if issue != nil {
			refused = cmp.Or(refused, issue)
			errs = append(errs, fmt.Errorf("TemplateController %s: %s", from.Name, issue.Message))
		}
		if !done {
			continue
		}
		accepted++
		klog.FromContext(ctx).Info("deleted a child of a TemplateController that is being deleted", "controller", from.Name, "child", l.ID().String())
	}
	if accepted > 0 {
		d.Queue.Add(from.Name) // until there is no more to ask for
	}
	return refused, errors.Join(errs...)
}
