package reconcile

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// deletions deletes children while the data that the decision was based on is still current. The Since methods of controller.Controller identify
// the data. They are recorded before anything is read, and compared before each deletion: a watch that failed in between may have missed a
// change that reverses the decision.
type deletions struct {
	*reconciliation
	since, related, read uint64 // 0 = not current; read is for related objects, too: see controller.Controller.ReadSince
	live                 bool   // whether the parent was read from the API server
	postponed            bool   // whether a deletion was postponed, because the data or the spec may be outdated
}

// begin records which data is current now.
func (d *deletions) begin() {
	d.since, d.related, d.read = d.CompleteSince(d.key.Parent.Namespace), d.RelatedSince(), d.ReadSince()
}

// current reports whether all data was current at the beginning, and still is.
func (d *deletions) current() bool {
	return d.since != 0 && d.since == d.CompleteSince(d.key.Parent.Namespace)
}

// relatedCurrent is like current, and includes related objects.
func (d *deletions) relatedCurrent() bool {
	return d.related != 0 && d.related == d.RelatedSince() && d.current()
}

// finished reports whether spec.finalize.children were rendered with current data: all related objects were current, and still are.
func (d *deletions) finished() bool { return d.read != 0 && d.read == d.ReadSince() }

// postpone records that a deletion is postponed, and returns the problem that reports it.
func (d *deletions) postpone(message string) *problem.Problem {
	d.postponed = true
	return &problem.Problem{Reason: v1.ReasonProgressing, Waiting: true, Retry: problem.RetrySoon, Message: message}
}

// outdated returns the problem that nothing is deleted because a watch failed after the decision.
func (d *deletions) outdated() *problem.Problem {
	return d.postpone("deletion of children is postponed: a watch failed, so the cache may be out of date")
}

// superseded returns the problem that nothing is deleted because the spec of the TemplateController may have changed.
func (d *deletions) superseded() *problem.Problem {
	return d.postpone("waiting to read the latest version of " + v1.Describe(d.Name))
}

// edited reports whether the watch has delivered another version of the parent since it was read.
func (d *deletions) edited() bool {
	now := d.ParentCache(d.key.Parent.Namespace).Get(d.key.Parent)
	return now == nil || now.ResourceVersion() != d.parent.ResourceVersion()
}

// blocked returns why nothing may be deleted now, or nil.
func (d *deletions) blocked(ctx context.Context) *problem.Problem {
	switch {
	case !d.current():
		return d.outdated()
	case !d.r.Controllers.MayPrune(ctx, d.Controller):
		return d.superseded()
	case d.parent != nil && !d.live && (d.edited() || !d.r.Controllers.Confirmed(ctx, d.Controller, d.parent)):
		return d.postpone("waiting for the latest version of this object")
	}
	return nil
}

// remove deletes one child, and reports whether the API server accepted the request. If it returns false without a problem, the child has been
// replaced or, if Unchanged is set, modified.
func (d *deletions) remove(ctx context.Context, a plan.Action) (accepted bool, issue *problem.Problem) {
	if issue = d.blocked(ctx); issue != nil {
		return false, issue
	}
	how := request.Deletion{Propagation: metav1.DeletePropagationBackground}
	if a.Foreground {
		how.Propagation = metav1.DeletePropagationForeground
	}
	if a.Unchanged {
		how.Version = a.Live.Object.ResourceVersion()
	}
	if d.guard.rewrites != nil && !a.Foreground {
		d.guard.rewrites.Remove(a.Live.ID().String())
	}
	if accepted, issue = d.Delete(ctx, a.Live, how); !accepted {
		return false, issue
	}
	d.report.Wrote(plan.Delete, a.Live.Entry, a.Live.ID())
	d.guard.written.Children = true
	klog.FromContext(ctx).Info("deleted child", "controller", d.Name, "parent", d.key.Parent.String(), "child", a.Live.ID().String())
	return true, nil
}
