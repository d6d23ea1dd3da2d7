package deletion

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// report is the progress of reporting the deletion of a TemplateController on its parents.
type report struct {
	message string                       // message to report; "" = the parents have not been listed yet
	left    []types.NamespacedName       // parents to write
	tries   map[types.NamespacedName]int // failed writes per parent that may succeed later
	denied  map[string]bool              // namespaces in which the permission is missing
}

// MaxTries is how often a failed report is retried. Failed reports must not block the deletion of the
// TemplateController.
const MaxTries = 10

// deletionMessage returns the message of the ready condition of parents whose TemplateController is deleted.
func deletionMessage(of *controller.Controller, deletesChildren bool) string {
	children := "are kept"
	if deletesChildren {
		children = "are deleted with it"
		if slices.ContainsFunc(of.Spec.Children, func(e v1.Child) bool {
			return e.DeletionPolicy == v1.DeletionOrphan || e.PrunePolicy == v1.PruneOrphan
		}) {
			children += ", except those with prunePolicy or deletionPolicy Orphan"
		}
	}
	return v1.Describe(of.Name) + " was deleted, so this object is no longer reconciled; its children " + children
}

// Report writes the ready condition of the parents of a TemplateController that is deleted, in batches. done is true
// once all writes succeeded or failed permanently. The caller must retry on an error. No reconciliation may be running.
func (d *Deleter) Report(ctx context.Context, p *Progress, of *controller.Controller, deletesChildren bool) (done bool, err error) {
	unread := of.Rejected && !of.ReportsRejection // it is unknown which objects are the parents
	if of.Spec.Suspend || of.Unknown || unread || !of.HoldsCondition() {
		return true, nil
	}
	r := &p.report
	if message := deletionMessage(of, deletesChildren); r.message != message {
		if of.SyncingParents() {
			return false, nil // called again when the caches have synced
		}
		*r = report{message: message, tries: map[types.NamespacedName]int{}, denied: map[string]bool{}}
		of.EachParent(func(o *object.Object) { r.left = append(r.left, o.Key()) })
	}
	var errs []error
	start := d.Clock.Now()
	for n := min(len(r.left), DeletionsAtATime); n > 0 && d.Clock.Since(start) < queue.Patience; n-- {
		key := r.left[0]
		r.left = r.left[1:]
		if err := d.reportOn(ctx, r, of, key); err != nil {
			r.left = append(r.left, key)
			errs = append(errs, err)
		}
	}
	if len(r.left) > 0 && len(errs) == 0 {
		d.Queue.Add(of.Name)
	}
	return len(r.left) == 0, errors.Join(errs...)
}

// reportOn writes the ready condition of one parent. It returns an error if the write should be retried; permanent
// errors are logged.
func (d *Deleter) reportOn(ctx context.Context, r *report, of *controller.Controller, key types.NamespacedName) error {
	parent := of.Parent(key)
	if parent == nil || parent.Deleting() || r.denied[key.Namespace] {
		return nil
	}
	message := r.message
	if plan.IsSuspended(parent) {
		message = deletionMessage(of, false)
	}
	err := reconcile.ReportDeletion(ctx, of, parent, reconcile.Deletion{Message: message, Clock: d.Clock, Controllers: d.Controllers})
	if err == nil || request.MissingObject(err) {
		return nil
	}
	r.tries[key]++
	if !lastingRefusal(err) && r.tries[key] < MaxTries {
		if controller.Stale(err) {
			return store.ErrBehind
		}
		return fmt.Errorf("report on parent %s that %s is deleted: %w", key, v1.Describe(of.Name), err)
	}
	r.denied[key.Namespace] = permissions.Denied(err)
	klog.FromContext(ctx).Info("cannot report on a parent that its TemplateController is deleted", "controller", of.Name, "parent", key.String(), "reason", problem.PublicReason(err))
	return nil
}

// lastingRefusal reports whether a retry of a rejected write would be rejected, too.
func lastingRefusal(err error) bool {
	code := request.Code(err)
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout && !problem.Unanswered(err) && !controller.Stale(err)
}
