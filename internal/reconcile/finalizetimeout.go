package reconcile

import (
	"context"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// timeout implements spec.finalize.timeout: how long the cleanup of a deleted parent may take.
//
// The timeout runs only while each reconciliation of this process is a full attempt with current data; otherwise it starts over. It only
// compares two times of the API server: that of the first attempt, recorded on the parent, and that of a new response. Local time only
// determines when to check. Before the release, the parent and the TemplateController are read, because one may have just been suspended.
type timeout struct{ *cleanup }

// check reports whether the cleanup has been attempted for longer than the timeout. If not, it returns when to reconcile again; 0 means on the
// next change.
func (t timeout) check(ctx context.Context) (over bool, again time.Duration) {
	limit := spec.FinalizeTimeout(t.Spec)
	switch {
	case limit == 0:
		return false, 0
	case t.incomplete, t.deletions.postponed, !t.deletions.current(): // a change may have been missed, such as a suspension
		t.r.Attempts.End(t.key)
		return false, problem.SlowRetry
	case !t.answered():
		t.r.Attempts.End(t.key)
		return false, 0
	}
	attempt, begun := t.r.Attempts.Of(t.key, t.parent.UID(), t.Generation)
	if !begun || t.parent.Annotation(t.sinceKey()) != t.since(attempt.Noted) {
		return false, t.beginAttempt(ctx, limit)
	}
	if left := timeLeft(limit, attempt.Seen, t.r.Clock.Now()); left > 0 {
		return false, left
	}
	now, known := t.serverTime(ctx)
	if !known {
		return false, problem.SlowRetry
	}
	if left := timeLeft(limit, attempt.Noted, now); left > 0 {
		return false, left
	}
	if !t.r.Controllers.Unchanged(ctx, t.Controller) {
		t.problems = append(t.problems, t.deletions.superseded())
		return false, problem.SlowRetry
	}
	return true, 0
}

// answered reports whether the templates could be rendered, and the API server has responded to each write.
func (t timeout) answered() bool {
	return !t.Rejected && !t.unrendered && t.problems.Answered()
}

// beginAttempt records on the parent when the cleanup was first attempted, and returns when to reconcile again.
func (t timeout) beginAttempt(ctx context.Context, limit time.Duration) time.Duration {
	now, known := t.serverTime(ctx)
	if !known {
		return problem.SlowRetry
	}
	noted := now.Add(time.Second) // the Date header has no fractions of a second
	if !t.annotate(ctx, t.sinceKey(), t.since(noted)) {
		return problem.SlowRetry
	}
	t.r.Attempts.Begin(t.key, queue.Attempt{Parent: t.parent.UID(), Generation: t.Generation, Noted: noted, Seen: t.r.Clock.Now()})
	return limit
}

// serverTime reads the parent and returns the Date header of the response. It returns false if there is none, or if the parent was replaced
// or suspended.
func (t timeout) serverTime(ctx context.Context) (time.Time, bool) {
	now, date, err := t.Cluster.GetDated(ctx, t.LocateParent(t.key))
	switch {
	case request.MissingObject(err):
		return time.Time{}, false // the watch will report it
	case err != nil:
		t.waits("cannot read the time of the API server, which spec.finalize.timeout needs: "+t.Rights.WhyNot(err, t.Rights.Claim(permissions.Parents, t.Kind, t.key.Parent.Namespace)), problem.RetryOnChange)
		return time.Time{}, false
	case date.IsZero():
		t.waits("spec.finalize.timeout has no effect: responses of the API server have no Date header; check for a proxy that removes it", problem.RetryOnChange)
		return time.Time{}, false
	}
	return date, now.UID() == t.parent.UID() && !plan.IsSuspended(now) && now.Annotation(t.sinceKey()) == t.parent.Annotation(t.sinceKey())
}

// sinceKey and since are the key and value of the annotation that records when the cleanup was first attempted.
func (t timeout) sinceKey() string { return v1.CleanupSince(t.Name) }

func (t timeout) since(at time.Time) string {
	return at.UTC().Format(time.RFC3339) + "/" + string(t.parent.UID())
}

// timeLeft returns how much of spec.finalize.timeout is left for a cleanup that has been attempted since then, at least 0. Both times must be
// from the same clock. If this clock was set back, the result is at most timeout.
func timeLeft(timeout time.Duration, since, now time.Time) time.Duration {
	return min(max(0, timeout-now.Sub(since)), timeout)
}
