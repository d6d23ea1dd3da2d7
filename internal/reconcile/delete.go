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

// deletions deletes children, as long as the data stand that this was decided by. The data are identified by the Since methods of
// running.Controller. These are recorded before anything is read, and compared before each deletion: a watch that failed in between may
// have missed a change that reverses the decision.
type deletions struct {
	*reconciliation
	since, related, read uint64 // 0 = not current; read is of related objects, too: see running.Controller.ReadSince
	live                 bool   // whether the parent was read from the server
	postponed            bool   // whether a deletion was left for later, as the data or the spec may be outdated
}

// begin records which data is current now.
func (d *deletions) begin() {
	d.since, d.related, d.read = d.CompleteSince(d.key.Parent.Namespace), d.RelatedSince(), d.ReadSince()
}

// current reports whether all data was current at the beginning, and still is.
func (d *deletions) current() bool {
	return d.since != 0 && d.since == d.CompleteSince(d.key.Parent.Namespace)
}

// relatedCurrent is current, including related objects.
func (d *deletions) relatedCurrent() bool {
	return d.related != 0 && d.related == d.RelatedSince() && d.current()
}

// finished reports whether nothing that spec.finalize.children yields can be missing: all related objects were current, and still are.
func (d *deletions) finished() bool { return d.read != 0 && d.read == d.ReadSince() }

// postpone records that a deletion is left for later, and returns the problem that reports it.
func (d *deletions) postpone(message string) *problem.Problem {
	d.postponed = true
	return &problem.Problem{Reason: v1.ReasonProgressing, Waiting: true, Retry: problem.RetrySoon, Message: message}
}

// outdated is the problem that nothing is deleted because a watch failed after the decision.
func (d *deletions) outdated() *problem.Problem {
	return d.postpone("waiting for current data: a watch failed before a child could be deleted")
}

// superseded is the problem that nothing is deleted because the TemplateController may have another spec by now.
func (d *deletions) superseded() *problem.Problem {
	return d.postpone("waiting to read the latest version of TemplateController " + d.Name)
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

// remove requests the deletion of one child, and reports whether the server accepted that. If it did not, and there is no problem, the child
// has been replaced or, if it had to be unchanged, has changed.
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
