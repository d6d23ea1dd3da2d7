package reconcile

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/answers"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/census"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/condition"
	"github.com/templater-dev/templater/internal/reconcile/fields"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/rights"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/tally"
)

// writeStatus writes the parent's status if it differs; observed are the children as they are
// after the writes.
func (rec *reconciliation) writeStatus(ctx context.Context, all []*child.Wanted, observed []*child.Live) {
	judge := rec.judge(observed)
	rec.census = rec.takeCensus(all, observed, judge)
	now := rec.count(observed, judge)
	if rec.whole {
		now.Round = rec.Round
	}
	for _, w := range all {
		now.Kinds |= rec.Sources[w.ID().Kind].Bit
	}
	rec.problems = append(rec.problems, rec.judgeFaults(judge)...)
	status, issue := rec.template(observed)
	if issue != nil {
		rec.problems = append(rec.problems, issue)
	}
	if issue := rec.census.Problem(); issue != nil {
		rec.problems = append(rec.problems, issue)
	}
	rec.tell(ctx, status, now)
}

// tell writes the status, but for what other TemplateControllers write of it, and counts how the parent fares. This is the one place where a
// pass reports.
func (rec *reconciliation) tell(ctx context.Context, status map[string]any, now *tally.Tally) {
	now.Contested = rec.leaveContested(status)
	if !rec.problems.Pending() {
		rec.report(ctx, status, now)
	}
	if rec.HoldsCondition() { // report may meet the other manager
		now.Foreign, now.Rival = rec.foreignCondition()
	}
	if !rec.problems.Pending() { // report may meet a problem, too
		rec.announce()
	}
	rec.r.Controllers.Count(rec.key, *now)
}

// count begins to count how the parent fares: with its children.
func (rec *reconciliation) count(observed []*child.Live, judge *readiness.Judge) *tally.Tally {
	now := &tally.Tally{Generation: rec.Generation, Children: int64(len(observed))}
	for _, l := range observed {
		if judge.Of(l.Entry, l.Object) == readiness.Ready {
			now.ChildrenReady++
		}
	}
	return now
}

// template renders the status template. When that fails, or cannot be done, or the children's templates have left nothing to do it
// with, which was told, the status stays as it is.
func (rec *reconciliation) template(observed []*child.Live) (map[string]any, *problem.Problem) {
	if rec.blind || len(rec.problems) > 0 && rec.budget.UsedUp() {
		return rec.ownStatus(), nil
	}
	kept := rec.budget.Kept()
	status, err := rec.Program.Status(rec.input(observed))
	rec.settle(rec.budget.Kept() - kept)
	if err != nil {
		return rec.ownStatus(), problem.FromTemplate(err)
	}
	rec.rendered = true
	if status == nil {
		status = map[string]any{}
	}
	status = condition.DropNulls(status)
	if fault := cmp.Or(rec.conditions().Fill(status), rec.Factory.KeyFault(map[string]any{"status": status})); fault != "" {
		return rec.ownStatus(), problem.Newf(v1.ReasonTemplateError, "status: %s", fault)
	}
	return status, condition.DropUnknown(status, rec.Kind, rec.Author())
}

// ownStatus is that part of the parent's status that we own.
func (rec *reconciliation) ownStatus() map[string]any {
	current, _ := rec.content()["status"].(map[string]any)
	owned, ok := fields.Set(rec.parent.Applied(rec.Manager, "status")).Field("status")
	if !ok || current == nil {
		return map[string]any{}
	}
	kept, _ := owned.Extract(current).(map[string]any)
	return kept
}

// report writes the status with the ready condition. A status that the server
// does not take is left as it was, and the condition says so.
func (rec *reconciliation) report(ctx context.Context, status map[string]any, now *tally.Tally) {
	v := rec.verdict()
	status = rec.withReady(status, v)
	rec.reportStatus(status, v)
	err := rec.store(ctx, status)
	if err != nil {
		v, err = rec.storeKnown(ctx, status, v, err)
	}
	if Unfit(err) && len(v.Message) > ShortMessage { // it may be the message that does not fit
		short := v
		short.Message = object.Line(v.Message, ShortMessage)
		err = rec.store(ctx, rec.withReady(status, short))
	}
	switch {
	case err == nil:
	case answers.MissingObject(err), rec.r.overtaken(ctx, rec.Controller, rec.key, rec.parent, err):
		rec.problems = append(rec.problems, &problem.Problem{Reason: v1.ReasonProgressing, Waiting: true, Pending: true, Retry: problem.RetryNow})
	case rights.Denied(err):
		need := rec.Rights.Claim(rights.Status, rec.Kind, rec.parent.Namespace())
		text, pending := rec.Rights.Missing(err, need)
		issue := &problem.Problem{Reason: v1.ReasonStatusRejected, Message: "cannot write the status: " + text, Pending: pending}
		rec.problems = append(rec.problems, issue.Lacks(rec.Rights.Denial(err, need)))
		if !pending {
			now.Denied = "cannot write the status: " + text
		}
	default:
		err = rec.Author().About(err, map[string]any{"status": status})
		rec.problems = append(rec.problems, &problem.Problem{
			Reason: v1.ReasonStatusRejected, Retry: problem.RetryBackoff,
			Message: "cannot write the status: " + problem.PublicReason(err), Faults: problem.SchemaFaults(err), About: contentOf(status),
		})
		v = rec.verdict()
		rec.writeConditionOnly(ctx, v)
	}
	if now.Failed = rec.failed(); now.Failed {
		now.Reason = rec.problems.First().Reason
	}
	now.Ready = v.Status == "True" && !now.Failed
}

// mostRefused bounds how often a status is written again without the fields that the server does not know: it may name them one by one.
const mostRefused = 5

// storeKnown writes the status again without the fields that the server does not know, by its answer to the last try. It returns the
// verdict and the answer that hold then.
func (rec *reconciliation) storeKnown(ctx context.Context, status map[string]any, v census.Verdict, err error) (census.Verdict, error) {
	issue := &problem.Problem{Reason: v1.ReasonStatusRejected, Retry: problem.RetryBackoff}
	for range mostRefused {
		told := problem.SchemaFaults(rec.Author().About(err, map[string]any{"status": status}))
		if !condition.DropRefused(status, problem.UnknownFields(err)) {
			break
		}
		if len(issue.Faults) == 0 {
			rec.problems = append(rec.problems, issue)
		}
		issue.Faults = append(issue.Faults, told...)
		issue.Message = condition.LeftOut(issue.Faults).Message
		v = rec.verdict()
		if err = rec.store(ctx, rec.withReady(status, v)); err == nil {
			break
		}
	}
	return v, err
}

// conflictsBeforeRead is how many conflicts in a row are taken for edits without reading the parent: a write that conflicts with an edit
// is nothing unusual.
const conflictsBeforeRead = 3

// overtaken reports whether a parent could not be written because it has changed since it was read.
func (r *Reconciler) overtaken(ctx context.Context, c *running.Controller, key queue.Key, parent *object.Object, err error) bool {
	if r.Failures.NumRequeues(key) < conflictsBeforeRead {
		return running.Stale(err)
	}
	return c.Overtaken(ctx, err, c.LocateParent(key), parent.UID(), parent.ResourceVersion())
}

// ShortMessage is how long the message of a ready condition may be that takes the place of one that the server has not taken.
const ShortMessage = 256

// writeConditionOnly writes the ready condition beside the status as it is, in fewer words where the server does not take it: the parent
// may be about as large as an object may be, or the schema may want short messages. An Event says it in more.
func (rec *reconciliation) writeConditionOnly(ctx context.Context, v census.Verdict) {
	err := rec.store(ctx, rec.withReady(rec.ownStatus(), v))
	for _, short := range []string{object.Line(v.Message, ShortMessage), ""} {
		if err == nil || !Unfit(err) {
			break
		}
		v.Message = short
		err = rec.store(ctx, rec.withReady(rec.ownStatus(), v))
	}
	if err != nil {
		klog.FromContext(ctx).Info("cannot write the ready condition, will retry", "controller", rec.Name, "parent", rec.key.Parent.String(), "reason", problem.PublicReason(err))
	}
}

// Unfit reports whether the server may take less of the same. Of what is too large for its store it says no more than that it cannot
// answer.
func Unfit(err error) bool {
	if err == nil {
		return false // mostly, and without an allocation
	}
	if len(problem.SchemaFaults(err)) > 0 {
		return false
	}
	switch answers.Code(err) {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return true
	}
	return false
}

// contentOf tells one status from another, but for conditions, which change with time.
func contentOf(status map[string]any) string {
	status = maps.Clone(status)
	delete(status, "conditions")
	return child.Hash(object.Append(nil, status))
}

// failed reports whether an error keeps templater from doing its work.
func (rec *reconciliation) failed() bool {
	issue := rec.problems.First()
	return issue != nil && !issue.Waiting
}

// store applies the status, unless the parent has it already. The error is that of the
// server.
func (rec *reconciliation) store(ctx context.Context, status map[string]any) error {
	if rec.Kind.Status == nil {
		return nil
	}
	current, _ := rec.content()["status"].(map[string]any)
	owned, has := fields.Set(rec.parent.Applied(rec.Manager, "status")).Field("status")
	if !has && len(status) == 0 || has && owned.Same(status, current) && !owned.Exceeds(status) {
		return nil
	}
	if rec.rewrites != nil {
		rec.rewrites.Status(owned, status, rec.Author().Path)
	}
	version := rec.parent.ResourceVersion()
	if reduced, emptied := owned.WithoutEmptied(status); emptied {
		after, err := rec.applyStatus(ctx, reduced, version)
		if err != nil {
			return err
		}
		version = after.ResourceVersion()
	}
	after, err := rec.applyStatus(ctx, status, version)
	if err != nil {
		return err
	}
	rec.written.Status = true
	rec.reportWrite(WriteStatus)
	if rec.Program.Reads().Status {
		now, _ := after.Content()["status"].(map[string]any)
		rec.visible = !fields.Equal(current, now)
	}
	rec.ParentCache(rec.parent.Namespace()).Put(after, rec.Name)
	klog.FromContext(ctx).V(2).Info("wrote status", "controller", rec.Name, "parent", rec.key.Parent.String())
	return nil
}

// applyStatus applies the status to that version of the parent. Conditions that are one value are taken from no other manager: they are left out
// of the status where the server answers that one owns them.
func (rec *reconciliation) applyStatus(ctx context.Context, status map[string]any, version string) (*object.Object, error) {
	if !rec.Kind.Status.Atomic || status["conditions"] == nil {
		return rec.sendStatus(ctx, status, version, true)
	}
	after, err := rec.sendStatus(ctx, status, version, false)
	owned := answers.OwnedFields(err)
	if len(owned) == 0 {
		return after, err
	}
	if slices.Contains(owned, ".status.conditions") {
		rec.conditionsOwned = true
		delete(status, "conditions")
	}
	return rec.sendStatus(ctx, status, version, true)
}

func (rec *reconciliation) sendStatus(ctx context.Context, status map[string]any, version string, force bool) (*object.Object, error) {
	metadata := map[string]any{"name": rec.parent.Name(), "resourceVersion": version}
	if ns := rec.parent.Namespace(); ns != "" {
		metadata["namespace"] = ns
	}
	body := map[string]any{"apiVersion": rec.GVK.GroupVersion().String(), "kind": rec.GVK.Kind, "metadata": metadata}
	if len(status) > 0 { // an empty status that held fields would become null: see fields.Set.WithoutEmptied
		body["status"] = status
	}
	return rec.Cluster.ApplyStatus(ctx, rec.LocateParent(rec.key), object.Append(make([]byte, 0, 512), body), rec.Manager, force)
}

// verdict is what the ready condition says.
func (rec *reconciliation) verdict() census.Verdict {
	if issue := rec.problems.First(); issue != nil && len(issue.Faults) > 0 {
		issue.SetFaults(rec.r.Events.Faults(rec.key, issue.About, issue.Faults))
	}
	return rec.census.Verdict(rec.problems, &rec.plan)
}

// announce publishes an Event when the problem is a new one, and a fault.
func (rec *reconciliation) announce() {
	issue := rec.problems.First()
	if issue == nil || issue.Waiting {
		rec.r.Events.Fresh(rec.key, "")
		return
	}
	if rec.r.Events.Fresh(rec.key, issue.Reason+rec.problems.Message()) {
		rec.r.Events.Announce(rec.As, rec.key, request.Announcement{About: rec.parent, Type: corev1.EventTypeWarning, Reason: issue.Reason, Message: rec.problems.Message()})
	}
}
