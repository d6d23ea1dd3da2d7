package reconcile

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// statusWriter writes the parent's status and its Events. All reports of a reconciliation are made here.
type statusWriter struct {
	*reconciliation
	childSummary status.ChildSummary // of the desired children, once they are counted
	plan         plan.Plan           // as executed, once there is one
	// conditionsOwned is true if the API server responded that another field manager owns the list of conditions.
	conditionsOwned bool
}

// write writes the parent's status after a convergence, and reports whether the status template was rendered.
func (s *statusWriter) write(ctx context.Context, c *convergence) (rendered bool) {
	judge := s.inputs.judge(c.observed)
	s.childSummary = c.count(c.desired.Wanted, judge)
	summary := status.SummarizeParent(s.Generation, c.observed, judge)
	summary.Outdated = s.Outdated
	if len(c.desired.Faults) == 0 {
		summary.Round = s.Round
	}
	for _, w := range c.desired.Wanted {
		summary.Kinds |= s.Sources[w.ID().Kind].Bit
	}
	s.problems = append(s.problems, s.inputs.judgeFaults(judge)...)
	content, rendered, issue := s.render(ctx, c.observed)
	if issue != nil {
		s.problems = append(s.problems, issue)
	}
	if issue := s.childSummary.Problem(); issue != nil {
		s.problems = append(s.problems, issue)
	}
	s.publish(ctx, content, summary)
	return rendered
}

// publish writes the status without fields that other TemplateControllers own, publishes an Event about a new fault, and counts the parent.
func (s *statusWriter) publish(ctx context.Context, content map[string]any, summary *status.ParentSummary) {
	summary.Contested = s.owners().LeaveContested(content, s.Author())
	if !s.problems.Pending() {
		s.update(ctx, content, summary)
	}
	if s.HoldsCondition() { // update may find another owner
		summary.Foreign, summary.Rival = s.foreignCondition()
	}
	if !s.problems.Pending() { // update may add a pending problem
		s.recordEvent()
	}
	s.r.Controllers.Count(s.key, *summary)
}

// reportRejection sets the ready condition of a parent whose TemplateController is not accepted. The rest of its status and its children are
// kept. The message is the same for every rejection, so repeated rejected edits cause no further writes. If the parent has the condition, no
// Event is published.
func (s *statusWriter) reportRejection(ctx context.Context) {
	foreign, _ := s.foreignCondition()
	s.problems = problem.List{{
		Reason:  v1.ReasonTemplateControllerNotAccepted,
		Message: v1.Describe(s.Name) + " is not accepted, so this object is not reconciled: see its Accepted condition",
		Waiting: s.HoldsCondition() && !foreign,
	}}
	s.publish(ctx, s.own(), &status.ParentSummary{Failed: true, Unobserved: true})
}

// reportSuspension sets the ready condition of a suspended parent. The rest of its status is kept, and no Event is published.
func (s *statusWriter) reportSuspension(ctx context.Context) {
	s.problems = append(s.problems, &problem.Problem{
		Reason: v1.ReasonSuspended, Waiting: true,
		Message: "the annotation " + v1.AnnotationSuspend + " is \"true\": nothing is created, changed or deleted until it is removed",
	})
	s.publish(ctx, s.own(), &status.ParentSummary{Generation: s.Generation, Suspended: true, Unobserved: true})
}

// Deletion is the ready condition of parents whose TemplateController is deleted.
type Deletion struct {
	Message     string
	Clock       clock.PassiveClock
	Controllers Controllers
}

// ReportDeletion sets the ready condition of a parent whose TemplateController is deleted, if its schema has conditions. The rest of its status
// is kept. Nothing is written if the condition is already set. The error is from the API server.
func ReportDeletion(ctx context.Context, of *controller.Controller, parent *object.Object, d Deletion) error {
	r := &Reconciler{Options: Options{Clock: d.Clock, Controllers: d.Controllers}}
	rec := newReconciliation(r, of, queue.Key{Controller: of.Name, Parent: parent.Key()})
	rec.parent = parent
	s := &rec.status
	return s.store(ctx, s.withReady(s.own(), status.Verdict{Status: "Unknown", Reason: v1.ReasonTemplateControllerDeleted, Message: d.Message}))
}

// update writes the status with the ready condition. If the API server rejects the status, it is kept, and the condition reports this.
func (s *statusWriter) update(ctx context.Context, content map[string]any, summary *status.ParentSummary) {
	v := s.verdict()
	content = s.withReady(content, v)
	if s.Kind.Status != nil {
		s.report.Plans(content, v)
	} else {
		s.report.Plans(nil, v)
	}
	err := s.store(ctx, content)
	if err != nil {
		v, err = s.storeKnown(ctx, content, v, err)
	}
	if problem.TooLarge(err) && len(v.Message) > problem.ShortMessage { // the message may be too long
		short := v
		short.Message = object.Line(v.Message, problem.ShortMessage)
		err = s.store(ctx, s.withReady(content, short))
	}
	if err != nil {
		issue := s.writeProblem(ctx, err, content)
		s.problems = append(s.problems, issue)
		switch {
		case issue.Pending:
		case permissions.Denied(err):
			summary.Denied = issue.Message
		default:
			v = s.verdict()
			s.writeConditionOnly(ctx, v)
		}
	}
	if summary.Failed = s.failed() && !summary.Suspended; summary.Failed {
		summary.Reason = s.problems.First().Reason
	}
	summary.Ready = v.Status == "True" && !summary.Failed
}

// writeProblem returns the problem of a parent whose status could not be written.
func (s *statusWriter) writeProblem(ctx context.Context, err error, content map[string]any) *problem.Problem {
	const text = "cannot write the status: "
	switch {
	case request.MissingObject(err), s.overtaken(ctx, err):
		return &problem.Problem{Reason: v1.ReasonProgressing, Waiting: true, Pending: true, Retry: problem.RetryNow}
	case permissions.Denied(err):
		need := s.Rights.Claim(permissions.Status, s.Kind, s.parent.Namespace())
		missing, pending := s.Rights.Missing(err, need)
		return (&problem.Problem{Reason: v1.ReasonStatusRejected, Message: text + missing, Pending: pending}).Lacks(s.Rights.Denial(err, need))
	}
	err = s.Author().About(err, map[string]any{"status": content})
	return &problem.Problem{
		Reason: v1.ReasonStatusRejected, Retry: problem.RetryBackoff,
		Message: text + problem.PublicReason(err), Faults: problem.SchemaFaults(err), About: status.ContentHash(content),
	}
}

// storeKnown retries without the fields that the API server reported as unknown in err. It returns the final verdict and error.
func (s *statusWriter) storeKnown(ctx context.Context, content map[string]any, v status.Verdict, err error) (status.Verdict, error) {
	const mostRetries = 5 // the API server may report the fields one by one
	issue := &problem.Problem{Reason: v1.ReasonStatusRejected, Retry: problem.RetryBackoff}
	for range mostRetries {
		faults := problem.SchemaFaults(s.Author().About(err, map[string]any{"status": content}))
		if !status.DropRefused(content, problem.UnknownFields(err)) {
			break
		}
		if len(issue.Faults) == 0 {
			s.problems = append(s.problems, issue)
		}
		issue.Faults = append(issue.Faults, faults...)
		issue.Message = status.LeftOut(issue.Faults).Message
		v = s.verdict()
		if err = s.store(ctx, s.withReady(content, v)); err == nil {
			break
		}
	}
	return v, err
}

// writeConditionOnly writes the ready condition, and keeps the rest of the status. If the API server rejects it, it retries with a shorter
// message: the parent may be close to the size limit of objects, or the schema may require short messages. An Event has the full message.
func (s *statusWriter) writeConditionOnly(ctx context.Context, v status.Verdict) {
	err := s.store(ctx, s.withReady(s.own(), v))
	for _, short := range []string{object.Line(v.Message, problem.ShortMessage), ""} {
		if err == nil || !problem.TooLarge(err) {
			break
		}
		v.Message = short
		err = s.store(ctx, s.withReady(s.own(), v))
	}
	if err != nil {
		klog.FromContext(ctx).Info("cannot write the ready condition, will retry", "controller", s.Name, "parent", s.key.Parent.String(), "reason", problem.PublicReason(err))
	}
}

// store applies the status, unless the parent already has it. The error is from the API server.
func (s *statusWriter) store(ctx context.Context, content map[string]any) error {
	if s.Kind.Status == nil {
		return nil
	}
	current, _ := s.inputs.content()["status"].(map[string]any)
	owned, has := s.parent.Applied(s.Manager, "status").Field("status")
	if !has && len(content) == 0 || has && owned.Same(content, current) && !owned.Exceeds(content) {
		return nil
	}
	if s.guard.rewrites != nil {
		s.guard.rewrites.Status(owned, content, s.Author().Path)
	}
	version := s.parent.ResourceVersion()
	if reduced, emptied := owned.WithoutEmptied(content); emptied {
		after, err := s.apply(ctx, reduced, version)
		if err != nil {
			return err
		}
		version = after.ResourceVersion()
	}
	after, err := s.apply(ctx, content, version)
	if err != nil {
		return err
	}
	s.guard.written.Status = true
	s.wroteParent(status.WriteStatus)
	if s.Program.Reads().Status {
		now, _ := after.Content()["status"].(map[string]any)
		s.next.Again = s.next.Again || !object.EqualValues(current, now)
	}
	s.KeepParent(after)
	klog.FromContext(ctx).V(2).Info("wrote status", "controller", s.Name, "parent", s.key.Parent.String())
	return nil
}

// apply applies the status to that version of the parent.
func (s *statusWriter) apply(ctx context.Context, content map[string]any, version string) (*object.Object, error) {
	after, conditionsOwned, err := s.ApplyStatus(ctx, s.parent, content, version)
	s.conditionsOwned = s.conditionsOwned || conditionsOwned
	return after, err
}

// verdict returns the ready condition.
func (s *statusWriter) verdict() status.Verdict {
	if issue := s.problems.First(); issue != nil && len(issue.Faults) > 0 {
		issue.SetFaults(s.r.Recorder.Faults(s.key, issue.About, issue.Faults))
	}
	return s.childSummary.Verdict(s.problems, &s.plan)
}

// recordEvent publishes an Event about a new fault.
func (s *statusWriter) recordEvent() {
	issue := s.problems.First()
	if issue == nil || issue.Waiting {
		s.r.Recorder.Fresh(s.key, "")
		return
	}
	if s.r.Recorder.Fresh(s.key, issue.Reason+s.problems.Message()) {
		s.r.Recorder.Announce(s.As, s.key, request.Announcement{About: s.parent, Type: corev1.EventTypeWarning, Reason: issue.Reason, Message: s.problems.Message()})
	}
}
