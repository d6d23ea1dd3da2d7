package reconcile

import (
	"context"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/answers"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/rights"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/teardown"
)

// overtime reports whether the cleanup of a deleted parent has been attempted for longer than spec.finalize.timeout. If not, it returns when
// to reconcile again; 0 means when something changes.
//
// The timeout runs while each reconciliation by this process is a full attempt on current data, and starts again after anything else. Only
// two times of the API server are compared: that of the first attempt, recorded on the parent, and that of a new response. The clock of this
// process only decides when to ask. Before the release, the TemplateController is read: it may have been suspended just now.
func (rec *reconciliation) overtime(ctx context.Context) (over bool, again time.Duration) {
	timeout := spec.FinalizeTimeout(rec.Spec)
	switch {
	case timeout == 0:
		return false, 0
	case rec.partial, !rec.evidence.stands(rec): // a part was not attempted, or a change may have been missed, such as a suspension
		rec.r.Attempts.End(rec.key)
		return false, problem.SlowRetry
	case !rec.answered():
		rec.r.Attempts.End(rec.key)
		return false, 0
	}
	attempt, begun := rec.r.Attempts.Of(rec.key, rec.parent.UID(), rec.Generation)
	if !begun || rec.parent.Annotation(rec.sinceKey()) != rec.since(attempt.Noted) {
		return false, rec.beginAttempt(ctx, timeout)
	}
	if left := teardown.Left(timeout, attempt.Seen, rec.r.Clock.Now()); left > 0 {
		return false, left
	}
	now, known := rec.serverTime(ctx)
	if !known {
		return false, problem.SlowRetry
	}
	if left := teardown.Left(timeout, attempt.Noted, now); left > 0 {
		return false, left
	}
	if !rec.r.Controllers.Unchanged(ctx, rec.Controller) {
		rec.problems = append(rec.problems, rec.superseded())
		return false, problem.SlowRetry
	}
	return true, 0
}

// answered reports whether the templates could be rendered, and the server has answered each write.
func (rec *reconciliation) answered() bool {
	return !rec.Rejected && !rec.blind && teardown.Answered(rec.problems)
}

// beginAttempt records on the parent when the cleanup was first attempted, and returns when to reconcile again.
func (rec *reconciliation) beginAttempt(ctx context.Context, timeout time.Duration) time.Duration {
	now, known := rec.serverTime(ctx)
	if !known {
		return problem.SlowRetry
	}
	noted := now.Add(time.Second) // a Date has no fractions
	if !rec.annotate(ctx, rec.sinceKey(), rec.since(noted)) {
		return problem.SlowRetry
	}
	rec.r.Attempts.Begin(rec.key, queue.Attempt{Parent: rec.parent.UID(), Generation: rec.Generation, Noted: noted, Seen: rec.r.Clock.Now()})
	return timeout
}

// serverTime reads the parent and returns the Date of the response. It returns false if there is none, or if the parent was replaced.
func (rec *reconciliation) serverTime(ctx context.Context) (time.Time, bool) {
	now, date, err := rec.Cluster.GetDated(ctx, rec.LocateParent(rec.key))
	switch {
	case answers.MissingObject(err):
		return time.Time{}, false // the watch will report it
	case err != nil:
		rec.waits("cannot ask the API server for the time, which spec.finalize.timeout needs: " + rec.Rights.WhyNot(err, rec.Rights.Claim(rights.Parents, rec.Kind, rec.key.Parent.Namespace)))
		return time.Time{}, false
	case date.IsZero():
		rec.waits("spec.finalize.timeout has no effect: responses of the API server have no Date header; look for a proxy that removes it")
		return time.Time{}, false
	}
	return date, now.UID() == rec.parent.UID() && now.Annotation(rec.sinceKey()) == rec.parent.Annotation(rec.sinceKey())
}

// sinceKey and since are key and value of the annotation that records when the cleanup was first attempted.
func (rec *reconciliation) sinceKey() string { return v1.AnnotationCleanupSincePrefix + rec.Name }

func (rec *reconciliation) since(at time.Time) string {
	return at.UTC().Format(time.RFC3339) + "/" + string(rec.parent.UID())
}
