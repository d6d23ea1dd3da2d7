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
func (p *pass) writeStatus(ctx context.Context, all []*child.Wanted, observed []*child.Live) {
	judge := p.judge(observed)
	p.census = p.takeCensus(all, observed, judge)
	now := p.count(observed, judge)
	if p.whole {
		now.Round = p.Round
	}
	for _, w := range all {
		now.Kinds |= p.Sources[w.ID().Kind].Bit
	}
	p.problems = append(p.problems, p.judgeFaults(judge)...)
	status, issue := p.template(observed)
	if issue != nil {
		p.problems = append(p.problems, issue)
	}
	if issue := p.census.Problem(); issue != nil {
		p.problems = append(p.problems, issue)
	}
	p.tell(ctx, status, now)
}

// tell writes the status, but for what other TemplateControllers write of it, and counts how the parent fares. This is the one place where a
// pass reports.
func (p *pass) tell(ctx context.Context, status map[string]any, now *tally.Tally) {
	now.Contested = p.leaveContested(status)
	if !p.problems.Pending() {
		p.report(ctx, status, now)
	}
	if p.HoldsCondition() { // report may meet the other manager
		now.Foreign, now.Rival = p.foreignCondition()
	}
	if !p.problems.Pending() { // report may meet a problem, too
		p.announce()
	}
	p.r.controllers.Count(p.key, *now)
}

// count begins to count how the parent fares: with its children.
func (p *pass) count(observed []*child.Live, judge *readiness.Judge) *tally.Tally {
	now := &tally.Tally{Generation: p.Generation, Children: int64(len(observed))}
	for _, l := range observed {
		if judge.Of(l.Entry, l.Object) == readiness.Ready {
			now.ChildrenReady++
		}
	}
	return now
}

// template renders the status template. When that fails, or cannot be done, or the children's templates have left nothing to do it
// with, which was told, the status stays as it is.
func (p *pass) template(observed []*child.Live) (map[string]any, *problem.Problem) {
	if p.blind || len(p.problems) > 0 && p.budget.UsedUp() {
		return p.ownStatus(), nil
	}
	kept := p.budget.Kept()
	status, err := p.Program.Status(p.input(observed))
	p.settle(p.budget.Kept() - kept)
	if err != nil {
		return p.ownStatus(), problem.FromTemplate(err)
	}
	p.rendered = true
	if status == nil {
		status = map[string]any{}
	}
	status = condition.DropNulls(status)
	if fault := cmp.Or(p.conditions().Fill(status), p.Factory.KeyFault(map[string]any{"status": status})); fault != "" {
		return p.ownStatus(), problem.Newf(v1.ReasonTemplateError, "status: %s", fault)
	}
	return status, condition.DropUnknown(status, p.Kind, p.Author())
}

// ownStatus is that part of the parent's status that we own.
func (p *pass) ownStatus() map[string]any {
	current, _ := p.content()["status"].(map[string]any)
	owned, ok := fields.Set(p.parent.Applied(p.Manager, "status")).Field("status")
	if !ok || current == nil {
		return map[string]any{}
	}
	kept, _ := owned.Extract(current).(map[string]any)
	return kept
}

// report writes the status with the ready condition. A status that the server
// does not take is left as it was, and the condition says so.
func (p *pass) report(ctx context.Context, status map[string]any, now *tally.Tally) {
	v := p.verdict()
	status = p.withReady(status, v)
	p.reportStatus(status, v)
	err := p.store(ctx, status)
	if err != nil {
		v, err = p.storeKnown(ctx, status, v, err)
	}
	if Unfit(err) && len(v.Message) > ShortMessage { // it may be the message that does not fit
		short := v
		short.Message = object.Line(v.Message, ShortMessage)
		err = p.store(ctx, p.withReady(status, short))
	}
	switch {
	case err == nil:
	case answers.MissingObject(err), p.r.overtaken(ctx, p.Controller, p.key, p.parent, err):
		p.problems = append(p.problems, &problem.Problem{Reason: v1.ReasonProgressing, Waiting: true, Pending: true, Retry: problem.RetryNow})
	case rights.Denied(err):
		need := p.Rights.Claim(rights.Status, p.Kind, p.parent.Namespace())
		text, pending := p.Rights.Missing(err, need)
		issue := &problem.Problem{Reason: v1.ReasonStatusRejected, Message: "cannot write the status: " + text, Pending: pending}
		p.problems = append(p.problems, issue.Lacks(p.Rights.Denial(err, need)))
		if !pending {
			now.Denied = "cannot write the status: " + text
		}
	default:
		err = p.Author().About(err, map[string]any{"status": status})
		p.problems = append(p.problems, &problem.Problem{
			Reason: v1.ReasonStatusRejected, Retry: problem.RetryBackoff,
			Message: "cannot write the status: " + problem.PublicReason(err), Faults: problem.SchemaFaults(err), About: contentOf(status),
		})
		v = p.verdict()
		p.writeConditionOnly(ctx, v)
	}
	if now.Failed = p.failed(); now.Failed {
		now.Reason = p.problems.First().Reason
	}
	now.Ready = v.Status == "True" && !now.Failed
}

// mostRefused bounds how often a status is written again without the fields that the server does not know: it may name them one by one.
const mostRefused = 5

// storeKnown writes the status again without the fields that the server does not know, by its answer to the last try. It returns the
// verdict and the answer that hold then.
func (p *pass) storeKnown(ctx context.Context, status map[string]any, v census.Verdict, err error) (census.Verdict, error) {
	issue := &problem.Problem{Reason: v1.ReasonStatusRejected, Retry: problem.RetryBackoff}
	for range mostRefused {
		told := problem.SchemaFaults(p.Author().About(err, map[string]any{"status": status}))
		if !condition.DropRefused(status, problem.UnknownFields(err)) {
			break
		}
		if len(issue.Faults) == 0 {
			p.problems = append(p.problems, issue)
		}
		issue.Faults = append(issue.Faults, told...)
		issue.Message = condition.LeftOut(issue.Faults).Message
		v = p.verdict()
		if err = p.store(ctx, p.withReady(status, v)); err == nil {
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
	if r.failures.NumRequeues(key) < conflictsBeforeRead {
		return running.Stale(err)
	}
	return c.Overtaken(ctx, err, c.LocateParent(key), parent.UID(), parent.ResourceVersion())
}

// ShortMessage is how long the message of a ready condition may be that takes the place of one that the server has not taken.
const ShortMessage = 256

// writeConditionOnly writes the ready condition beside the status as it is, in fewer words where the server does not take it: the parent
// may be about as large as an object may be, or the schema may want short messages. An Event says it in more.
func (p *pass) writeConditionOnly(ctx context.Context, v census.Verdict) {
	err := p.store(ctx, p.withReady(p.ownStatus(), v))
	for _, short := range []string{object.Line(v.Message, ShortMessage), ""} {
		if err == nil || !Unfit(err) {
			break
		}
		v.Message = short
		err = p.store(ctx, p.withReady(p.ownStatus(), v))
	}
	if err != nil {
		klog.FromContext(ctx).Info("cannot write the ready condition, will retry", "controller", p.Name, "parent", p.key.Parent.String(), "reason", problem.PublicReason(err))
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
func (p *pass) failed() bool {
	issue := p.problems.First()
	return issue != nil && !issue.Waiting
}

// store applies the status, unless the parent has it already. The error is that of the
// server.
func (p *pass) store(ctx context.Context, status map[string]any) error {
	if p.Kind.Status == nil {
		return nil
	}
	current, _ := p.content()["status"].(map[string]any)
	owned, has := fields.Set(p.parent.Applied(p.Manager, "status")).Field("status")
	if !has && len(status) == 0 || has && owned.Same(status, current) && !owned.Exceeds(status) {
		return nil
	}
	if p.rewrites != nil {
		p.rewrites.Status(owned, status, p.Author().Path)
	}
	version := p.parent.ResourceVersion()
	if reduced, emptied := owned.WithoutEmptied(status); emptied {
		after, err := p.applyStatus(ctx, reduced, version)
		if err != nil {
			return err
		}
		version = after.ResourceVersion()
	}
	after, err := p.applyStatus(ctx, status, version)
	if err != nil {
		return err
	}
	p.written.Status = true
	p.reportWrite(WriteStatus)
	if p.Program.Reads().Status {
		now, _ := after.Content()["status"].(map[string]any)
		p.visible = !fields.Equal(current, now)
	}
	p.ParentCache(p.parent.Namespace()).Put(after, p.Name)
	klog.FromContext(ctx).V(2).Info("wrote status", "controller", p.Name, "parent", p.key.Parent.String())
	return nil
}

// applyStatus applies the status to that version of the parent. Conditions that are one value are taken from no other manager: they are left out
// of the status where the server answers that one owns them.
func (p *pass) applyStatus(ctx context.Context, status map[string]any, version string) (*object.Object, error) {
	if !p.Kind.Status.Atomic || status["conditions"] == nil {
		return p.sendStatus(ctx, status, version, true)
	}
	after, err := p.sendStatus(ctx, status, version, false)
	owned := answers.OwnedFields(err)
	if len(owned) == 0 {
		return after, err
	}
	if slices.Contains(owned, ".status.conditions") {
		p.conditionsOwned = true
		delete(status, "conditions")
	}
	return p.sendStatus(ctx, status, version, true)
}

func (p *pass) sendStatus(ctx context.Context, status map[string]any, version string, force bool) (*object.Object, error) {
	metadata := map[string]any{"name": p.parent.Name(), "resourceVersion": version}
	if ns := p.parent.Namespace(); ns != "" {
		metadata["namespace"] = ns
	}
	body := map[string]any{"apiVersion": p.GVK.GroupVersion().String(), "kind": p.GVK.Kind, "metadata": metadata}
	if len(status) > 0 { // an empty status that held fields would become null: see fields.Set.WithoutEmptied
		body["status"] = status
	}
	return p.Cluster.ApplyStatus(ctx, p.LocateParent(p.key), object.Append(make([]byte, 0, 512), body), p.Manager, force)
}

// verdict is what the ready condition says.
func (p *pass) verdict() census.Verdict {
	if issue := p.problems.First(); issue != nil && len(issue.Faults) > 0 {
		issue.SetFaults(p.r.events.Faults(p.key, issue.About, issue.Faults))
	}
	return p.census.Verdict(p.problems, &p.plan)
}

// announce publishes an Event when the problem is a new one, and a fault.
func (p *pass) announce() {
	issue := p.problems.First()
	if issue == nil || issue.Waiting {
		p.r.events.Fresh(p.key, "")
		return
	}
	if p.r.events.Fresh(p.key, issue.Reason+p.problems.Message()) {
		p.r.events.Announce(p.As, p.key, request.Announcement{About: p.parent, Type: corev1.EventTypeWarning, Reason: issue.Reason, Message: p.problems.Message()})
	}
}
