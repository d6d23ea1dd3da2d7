package reconcile

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// statusWriter writes the parent's status and its Events. This is the one place where a reconciliation reports.
type statusWriter struct {
	*reconciliation
	childSummary status.ChildSummary // of the desired children, once these are counted
	plan         plan.Plan           // as it was carried out, once there is one
	// conditionsOwned is whether the server has answered that another manager owns the list of conditions.
	conditionsOwned bool
}

// write writes the parent's status after a convergence, and reports whether the status template was executed.
func (s *statusWriter) write(ctx context.Context, c *convergence) (rendered bool) {
	judge := s.inputs.judge(c.observed)
	s.childSummary = c.count(c.desired.Wanted, judge)
	summary := status.SummarizeParent(s.Generation, c.observed, judge)
	if len(c.desired.Faults) == 0 {
		summary.Round = s.Round
	}
	for _, w := range c.desired.Wanted {
		summary.Kinds |= s.Sources[w.ID().Kind].Bit
	}
	s.problems = append(s.problems, s.inputs.judgeFaults(judge)...)
	content, rendered, issue := s.render(c.observed)
	if issue != nil {
		s.problems = append(s.problems, issue)
	}
	if issue := s.childSummary.Problem(); issue != nil {
		s.problems = append(s.problems, issue)
	}
	s.publish(ctx, content, summary)
	return rendered
}

// publish writes the status, except for fields that other TemplateControllers write, publishes an Event about a new fault, and counts the
// parent.
func (s *statusWriter) publish(ctx context.Context, content map[string]any, summary *status.ParentSummary) {
	summary.Contested = s.owners().LeaveContested(content, s.Author())
	if !s.problems.Pending() {
		s.update(ctx, content, summary)
	}
	if s.HoldsCondition() { // update may meet the other manager
		summary.Foreign, summary.Rival = s.foreignCondition()
	}
	if !s.problems.Pending() { // update may meet a problem, too
		s.recordEvent()
	}
	s.r.Controllers.Count(s.key, *summary)
}

// reportRejection writes into the ready condition of a parent that its TemplateController is not accepted. The rest of its status and its
// children are kept. The message is the same for every rejection, so repeated rejected edits cause no further writes. A parent that can hold
// the condition gets no Event.
func (s *statusWriter) reportRejection(ctx context.Context) {
	foreign, _ := s.foreignCondition()
	s.problems = problem.List{{
		Reason:  v1.ReasonTemplateControllerNotAccepted,
		Message: "TemplateController " + s.Name + " is not accepted, so this object is not reconciled: see the conditions of the TemplateController",
		Waiting: s.HoldsCondition() && !foreign,
	}}
	s.publish(ctx, s.own(), &status.ParentSummary{Failed: true, Unobserved: true})
}

// Deletion is what parents report whose TemplateController is deleted.
type Deletion struct {
	Message     string
	Clock       clock.PassiveClock
	Controllers Controllers
}

// ReportDeletion has a parent report that its TemplateController is deleted, where it can hold the condition. The rest of its status is kept. It
// writes nothing where the parent reports that already. The error is that of the server.
func ReportDeletion(ctx context.Context, of *running.Controller, parent *object.Object, d Deletion) error {
	r := &Reconciler{Options: Options{Clock: d.Clock, Controllers: d.Controllers}}
	rec := newReconciliation(r, of, queue.Key{Controller: of.Name, Parent: parent.Key()})
	rec.parent = parent
	s := &rec.status
	return s.store(ctx, s.withReady(s.own(), status.Verdict{Status: "Unknown", Reason: v1.ReasonTemplateControllerDeleted, Message: d.Message}))
}

// update writes the status with the ready condition. A status that the server
// rejects is left as it was, and the condition says so.
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
	if problem.Unfit(err) && len(v.Message) > problem.ShortMessage { // it may be the message that does not fit
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
	if summary.Failed = s.failed(); summary.Failed {
		summary.Reason = s.problems.First().Reason
	}
	summary.Ready = v.Status == "True" && !summary.Failed
}

// writeProblem is the problem of a parent whose status could not be written.
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

// storeKnown writes the status again without the fields that the server does not know, by its answer to the last try. It returns the
// verdict and the answer that hold then.
func (s *statusWriter) storeKnown(ctx context.Context, content map[string]any, v status.Verdict, err error) (status.Verdict, error) {
	const mostRetries = 5 // the server may name the fields one by one
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

// writeConditionOnly writes the ready condition beside the status as it is, in fewer words where the server does not take it: the parent
// may be about as large as an object may be, or the schema may want short messages. An Event says it in more.
func (s *statusWriter) writeConditionOnly(ctx context.Context, v status.Verdict) {
	err := s.store(ctx, s.withReady(s.own(), v))
	for _, short := range []string{object.Line(v.Message, problem.ShortMessage), ""} {
		if err == nil || !problem.Unfit(err) {
			break
		}
		v.Message = short
		err = s.store(ctx, s.withReady(s.own(), v))
	}
	if err != nil {
		klog.FromContext(ctx).Info("cannot write the ready condition, will retry", "controller", s.Name, "parent", s.key.Parent.String(), "reason", problem.PublicReason(err))
	}
}

// store applies the status, unless the parent has it already. The error is that of the
// server.
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
	s.ParentCache(s.parent.Namespace()).Put(after, s.Name)
	klog.FromContext(ctx).V(2).Info("wrote status", "controller", s.Name, "parent", s.key.Parent.String())
	return nil
}

// apply applies the status to that version of the parent.
func (s *statusWriter) apply(ctx context.Context, content map[string]any, version string) (*object.Object, error) {
	after, conditionsOwned, err := s.ApplyStatus(ctx, s.parent, content, version)
	s.conditionsOwned = s.conditionsOwned || conditionsOwned
	return after, err
}

// verdict is what the ready condition says.
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
