package controllers

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
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// deletionReport is the work left to report on parents that their TemplateController is deleted.
type deletionReport struct {
	message string                       // that is reported; "" = the parents have not been listed yet
	left    []types.NamespacedName       // parents to write
	tries   map[types.NamespacedName]int // failed writes that may succeed later
	denied  map[string]bool              // namespaces in which the permission is missing
}

// mostReportTries is how often a failed report is written again. It must not keep the TemplateController from being deleted.
const mostReportTries = 10

// deletionMessage is the message of the ready condition of parents whose TemplateController is deleted.
func deletionMessage(of *running.Controller, deletesChildren bool) string {
	children := "are kept"
	if deletesChildren {
		children = "are deleted with it"
		if slices.ContainsFunc(of.Spec.Children, func(e v1.Child) bool {
			return e.DeletionPolicy == v1.DeletionOrphan || e.PrunePolicy == v1.PruneOrphan
		}) {
			children += ", except those of child templates with the policy Orphan"
		}
	}
	return "TemplateController " + of.Name + " is deleted, so this object is no longer reconciled; its children " + children
}

// reportDeletion writes the ready condition of the parents of a TemplateController that is deleted: of some at a time. It returns
// whether that is done: written, or refused. The error deserves a retry. No reconciliation may be under way.
func (f *finalizer) reportDeletion(ctx context.Context, e *tracked, of *running.Controller, deletesChildren bool) (done bool, err error) {
	unread := of.Rejected && !of.ReportsRejection // it is unknown which objects are the parents
	if of.Spec.Suspend || of.Unknown || unread || !of.HoldsCondition() {
		return true, nil
	}
	report := &e.deletionReport
	if message := deletionMessage(of, deletesChildren); report.message != message {
		if of.SyncingParents() {
			return false, nil // comes again when the caches have synced
		}
		*report = deletionReport{message: message, tries: map[types.NamespacedName]int{}, denied: map[string]bool{}}
		of.EachParent(func(o *object.Object) { report.left = append(report.left, o.Key()) })
	}
	var errs []error
	start := f.clock.Now()
	for n := min(len(report.left), deletionsAtATime); n > 0 && f.clock.Since(start) < queue.Patience; n-- {
		key := report.left[0]
		report.left = report.left[1:]
		if err := f.reportDeletionOn(ctx, report, of, key); err != nil {
			report.left = append(report.left, key)
			errs = append(errs, err)
		}
	}
	if len(report.left) > 0 && len(errs) == 0 {
		f.queue.Add(of.Name)
	}
	return len(report.left) == 0, errors.Join(errs...)
}

// reportDeletionOn writes the ready condition of one parent. The error is that of a write worth another try; a refusal is logged.
func (f *finalizer) reportDeletionOn(ctx context.Context, report *deletionReport, of *running.Controller, key types.NamespacedName) error {
	parent := of.Parent(key)
	if parent == nil || parent.Deleting() || report.denied[key.Namespace] {
		return nil
	}
	err := reconcile.ReportDeletion(ctx, of, parent, reconcile.Deletion{Message: report.message, Clock: f.clock, Controllers: reconciliations{f.registry, f.requeuer, f.store}})
	if err == nil || request.MissingObject(err) {
		return nil
	}
	report.tries[key]++
	if !lastingRefusal(err) && report.tries[key] < mostReportTries {
		if running.Stale(err) {
			return errBehind
		}
		return fmt.Errorf("report on parent %s that TemplateController %s is deleted: %w", key, of.Name, err)
	}
	report.denied[key.Namespace] = permissions.Denied(err)
	klog.FromContext(ctx).Info("cannot report on a parent that its TemplateController is deleted", "controller", of.Name, "parent", key.String(), "reason", problem.PublicReason(err))
	return nil
}

// lastingRefusal reports whether the server has refused a write for a reason that another try does not change.
func lastingRefusal(err error) bool {
	code := request.Code(err)
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout && !problem.Unanswered(err) && !running.Stale(err)
}

// reportDeleted does the same for a TemplateController that no finalizer has kept, as far as this process ran it. An operator that was
// not running then knows nothing of it.
func (f *finalizer) reportDeleted(ctx context.Context, name string) (done bool, err error) {
	f.mu.Lock()
	e := f.tracked[name]
	if e != nil && e.current != nil {
		e.last = e.current
	}
	f.mu.Unlock()
	if e == nil || e.last == nil || f.store.standby.Load() {
		return true, nil
	}
	f.stop(ctx, name)
	return f.reportDeletion(ctx, e, e.last, false)
}

// reportEnding reports on parents that a TemplateController is deleted that a finalizer keeps still. It returns what the deletion waits for.
func (f *finalizer) reportEnding(ctx context.Context, e *tracked, next *running.Controller, deletesChildren bool) (*spec.Rejection, error) {
	done, err := f.reportDeletion(ctx, e, next, deletesChildren)
	if done {
		return nil, err
	}
	return spec.Rejectf(v1.ReasonDeleting, "being deleted: updating the conditions of its parents"), err
}
