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
func (p *pass) overtime(ctx context.Context) (over bool, again time.Duration) {
	timeout := spec.FinalizeTimeout(p.Spec)
	switch {
	case timeout == 0:
		return false, 0
	case p.partial, !p.evidence.stands(p): // a part was not attempted, or a change may have been missed, such as a suspension
		p.r.attempts.End(p.key)
		return false, problem.SlowRetry
	case !p.answered():
		p.r.attempts.End(p.key)
		return false, 0
	}
	attempt, begun := p.r.attempts.Of(p.key, p.parent.UID(), p.Generation)
	if !begun || p.parent.Annotation(p.sinceKey()) != p.since(attempt.Noted) {
		return false, p.beginAttempt(ctx, timeout)
	}
	if left := teardown.Left(timeout, attempt.Seen, p.r.clock.Now()); left > 0 {
		return false, left
	}
	now, known := p.serverTime(ctx)
	if !known {
		return false, problem.SlowRetry
	}
	if left := teardown.Left(timeout, attempt.Noted, now); left > 0 {
		return false, left
	}
	if !p.r.controllers.Unchanged(ctx, p.Controller) {
		p.problems = append(p.problems, p.superseded())
		return false, problem.SlowRetry
	}
	return true, 0
}

// answered reports whether the templates could be rendered, and the server has answered each write.
func (p *pass) answered() bool {
	return !p.Rejected && !p.blind && teardown.Answered(p.problems)
}

// beginAttempt records on the parent when the cleanup was first attempted, and returns when to reconcile again.
func (p *pass) beginAttempt(ctx context.Context, timeout time.Duration) time.Duration {
	now, known := p.serverTime(ctx)
	if !known {
		return problem.SlowRetry
	}
	noted := now.Add(time.Second) // a Date has no fractions
	if !p.annotate(ctx, p.sinceKey(), p.since(noted)) {
		return problem.SlowRetry
	}
	p.r.attempts.Begin(p.key, queue.Attempt{Parent: p.parent.UID(), Generation: p.Generation, Noted: noted, Seen: p.r.clock.Now()})
	return timeout
}

// serverTime reads the parent and returns the Date of the response. It returns false if there is none, or if the parent was replaced.
func (p *pass) serverTime(ctx context.Context) (time.Time, bool) {
	now, date, err := p.Cluster.GetDated(ctx, p.LocateParent(p.key))
	switch {
	case answers.MissingObject(err):
		return time.Time{}, false // the watch will report it
	case err != nil:
		p.waits("cannot ask the API server for the time, which spec.finalize.timeout needs: " + p.Rights.WhyNot(err, p.Rights.Claim(rights.Parents, p.Kind, p.key.Parent.Namespace)))
		return time.Time{}, false
	case date.IsZero():
		p.waits("spec.finalize.timeout has no effect: responses of the API server have no Date header; look for a proxy that removes it")
		return time.Time{}, false
	}
	return date, now.UID() == p.parent.UID() && now.Annotation(p.sinceKey()) == p.parent.Annotation(p.sinceKey())
}

// sinceKey and since are key and value of the annotation that records when the cleanup was first attempted.
func (p *pass) sinceKey() string { return v1.AnnotationCleanupSincePrefix + p.Name }

func (p *pass) since(at time.Time) string {
	return at.UTC().Format(time.RFC3339) + "/" + string(p.parent.UID())
}
