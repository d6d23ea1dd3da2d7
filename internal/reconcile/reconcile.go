package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/announce"
	"github.com/templater-dev/templater/internal/reconcile/census"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/gate"
	"github.com/templater-dev/templater/internal/reconcile/loop"
	"github.com/templater-dev/templater/internal/reconcile/measure"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/rights"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/tally"
	"github.com/templater-dev/templater/internal/reconcile/view"
	"github.com/templater-dev/templater/internal/reconcile/workers"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/budget"
)

// reconciliation is one reconciliation of one parent.
type reconciliation struct {
	*running.Controller
	r          *Reconciler
	key        queue.Key
	reported   *Report      // nil unless somebody asks
	pause      func() error // see render.Input
	parent     *object.Object
	budget     budget.Pass // of the templates
	memory     workers.Reservation
	decoded    map[string]any // the parent: see content
	problems   problem.List
	parentSpec int64          // see specs
	suspect    bool           // whether earlier passes have written
	rewrites   *loop.Rewrites // nil while there is no suspicion of a loop
	written    loop.Written
	done       done             // for Events
	visible    bool             // whether the status is another one: found out where templates read it
	chosen     []chosen         // by entry of spec.related; nil before they are chosen
	unchosen   *problem.Problem // why they are not known: see choose
	plan       plan.Plan
	maker      *child.Maker
	entries    child.Entries // whose objects the pass brings in line
	order      *spec.Order   // of these
	census     census.Census
	blind      bool             // whether no template can be rendered
	whole      bool             // whether all that the templates want is known
	rendered   bool             // whether the status template has been executed
	logs       podlogs.Reading  // nil until a template asks for logs
	evidence   evidence         // of what is to be deleted
	sure       bool             // whether all is known that decides what is to go
	behind     bool             // whether the watch of TemplateControllers failed when it was planned what is to go
	unrenewed  bool             // whether a seal could not be renewed
	judged     *readiness.Judge // see judge
	opened     bool             // whether entries may begin that this pass has held back
	now        time.Time        // see settles
	settling   time.Duration    // after which a rollout goes on by itself; 0 = never
	free       bool             // whether a rollout need not wait
	partial    bool             // whether something kept a part of the cleanup of a deleted parent from being attempted
	// conditionsOwned is whether the server has answered that another manager owns the list of conditions.
	conditionsOwned bool
	// unlabelled are children of an earlier parent of that name that no watch shows, because they have lost
	// their label.
	unlabelled []*child.Live
}

// Result says when a parent is worth another look although nothing changed.
type Result struct {
	Retry problem.Retry
	// After is when to look again at the latest, whatever Retry says; 0 means never.
	After time.Duration
	// Again is whether to look again at once, whatever the rest says: the templates may yield something else
	// for what the pass has written.
	Again bool
	// Denial is the permission that is missing, if any.
	Denial problem.Denial
	// Outcome is what became of the pass.
	Outcome measure.Outcome
}

// also adds when to look again for another reason.
func (r Result) also(other Result) Result {
	r.Retry = max(r.Retry, other.Retry)
	r.After = min(cmp.Or(r.After, other.After), cmp.Or(other.After, r.After)) // 0 is never
	return r
}

// Reconcile brings the children and the status of the parent named by key up
// to date. It acts on current state only, so extra calls are harmless. A
// user's mistake ends in the parent's status, and so does what the server refuses.
func (r *Reconciler) Reconcile(ctx context.Context, key queue.Key) Result {
	return r.reconcile(ctx, key, nil)
}

func (r *Reconciler) reconcile(ctx context.Context, key queue.Key, report *Report) Result {
	rec := &reconciliation{r: r, key: key, reported: report}
	if r.Backlog.Begin(key) {
		defer r.Backlog.Done(key)
	}
	worker := workers.Of(ctx)
	worker.Begin(key)
	rec.pause = worker.Pauses()
	defer worker.End()
	c, leave := r.Controllers.Enter(key.Controller)
	defer leave()
	if c != nil && c.Spec.Suspend {
		r.countSuspended(c, key)
	}
	if c == nil || !c.Runs() || !c.ParentsSynced(key.Parent.Namespace) || c.SyncingChildren(key.Parent.Namespace) {
		return Result{} // each of these brings the parent back when it changes
	}
	rec.Controller = c
	rec.gather(true) // before anything is read
	if rec.parent = c.Parent(key.Parent); rec.parent == nil {
		return r.reconcileAbsence(ctx, c, key)
	}
	if rec.parent.Deleting() && !rec.parent.HasFinalizer(c.Finalizer) {
		r.Controllers.Count(key, tally.Tally{Generation: c.Generation, Unobserved: true})
		return Result{} // the garbage collector takes the children
	}
	if c.TeardownOnly && !rec.parent.Deleting() && !c.ReportsRejection {
		return Result{}
	}
	return rec.reconcile(ctx)
}

// reconcileAbsence reconciles a parent that the cache does not hold.
func (r *Reconciler) reconcileAbsence(ctx context.Context, c *running.Controller, key queue.Key) Result {
	if c.TeardownOnly {
		if c.ParentCache(key.Parent.Namespace) != nil { // else it may well exist
			r.forget(c, key)
			r.endDeparture(key, "")
		}
		return Result{}
	}
	result := r.handleAbsence(ctx, c, key)
	result.Outcome = outcomeOfLeaving(result)
	return result
}

// reconcile reconciles a parent that exists.
func (rec *reconciliation) reconcile(ctx context.Context) Result {
	rec.memory.Open(ctx, rec.r.Memory, rec.key.Controller)
	defer rec.memory.Close()
	defer rec.fillReport()
	rec.budget.Begin(&rec.memory)
	if rec.TeardownOnly && !rec.parent.Deleting() {
		return rec.reportRejection(ctx)
	}
	if rec.suspect = rec.r.Breaker.Knows(rec.key); rec.suspect {
		if wait := rec.r.Breaker.Wait(rec.key, rec.specs()); wait > 0 {
			return Result{After: wait}
		}
		rec.rewrites = rec.r.Breaker.Rewrites(rec.key, rec.specs())
	}
	if rec.parent.Deleting() {
		return rec.teardown(ctx)
	}
	if rec.SyncingRelated() {
		return Result{} // the end of the first list brings the parent back
	}
	result := rec.run(ctx).also(rec.collectLeftovers(ctx))
	if result.Retry < problem.RetrySlow && (rec.behind || !running.Readable(rec.Controllers)) {
		result.Retry = problem.RetrySlow // something may be left to prune, and no event tells when
	}
	return result
}

// countSuspended counts a parent of a suspended TemplateController, which is not reconciled. It makes no request.
func (r *Reconciler) countSuspended(c *running.Controller, key queue.Key) {
	if c.Unknown || !c.ParentsSynced(key.Parent.Namespace) {
		return
	}
	if c.Parent(key.Parent) == nil {
		r.Controllers.Left(key)
		return
	}
	r.Controllers.Count(key, tally.Tally{Suspended: true, Unobserved: true})
}

func (rec *reconciliation) run(ctx context.Context) Result {
	rec.entries, rec.order = rec.Spec.Children, rec.Order
	s, early := rec.converge(ctx)
	if early != nil {
		return *early
	}
	rec.loop()
	if rec.wait(s) {
		rec.writeStatus(ctx, s.d.Wanted, s.observed)
	}
	rec.endLogs()
	rec.measure()
	if log := klog.FromContext(ctx).V(4); log.Enabled() {
		log.Info("looked at parent", "controller", rec.Name, "parent", rec.key.Parent.String(), "resourceVersion", rec.parent.ResourceVersion(), "wroteChildren", rec.written.Children, "wroteStatus", rec.written.Status)
	}
	return rec.result()
}

// measure counts what the pass has met, and finds passes that write without an end.
func (rec *reconciliation) measure() {
	if rec.wrote() {
		rec.Meter.Tripped()
	}
	if rec.problems.TemplateFailed() {
		rec.Meter.TemplateError()
	}
}

// sight is what the pass has seen: what its entries want, what there is after the writes, and which entries are held back.
type sight struct {
	d        child.Desired
	observed []*child.Live
	gates    *gate.Gates // before the writes
}

// converge brings the objects of the pass's entries in line with what the templates yield. Where the pass has to end, it returns how.
func (rec *reconciliation) converge(ctx context.Context) (s sight, early *Result) {
	s.observed = rec.observe()
	var d child.Desired
	var free []*child.Wanted
	if why := rec.choose(); why == nil {
		d, free = rec.Factory.Desire(rec.parent, rec.entries, s.observed, func() *render.Input { return rec.input(s.observed) })
	} else {
		d, rec.blind = rec.held(why), true
	}
	if rec.reported != nil {
		rec.reported.Desired = d
	}
	if ctx.Err() != nil { // it was cut short, so that it does not know all
		return s, &Result{Retry: problem.RetryBackoff, Outcome: measure.Waiting}
	}
	s.gates = rec.gates(&d, s.observed)
	rec.settle(d.Largest)
	if len(d.Unknown) > 0 {
		rec.r.Controllers.AddKinds(rec.Name, d.Unknown)
		return s, &Result{Outcome: measure.Waiting} // comes again when the new kinds can be read
	}
	rec.r.Controllers.Miss(rec.Name, d.Missing)
	rec.problems = append(rec.problems, s.gates.Told(d.Faults)...)
	rec.whole = len(d.Faults) == 0
	wanted := rec.readable(free)
	rec.maker = d.Maker
	rec.written.Before, rec.written.Rolling = fingerprint(s.observed), rolling(wanted)
	rec.plan = rec.makePlan(ctx, plan.Input{
		Entries: rec.entries, Wanted: wanted, Live: rec.ofEntries(s.observed), Maker: d.Maker, Gates: s.gates, Available: rec.availability(s.observed),
	})
	rec.act(ctx)
	if rec.written.Children {
		s.observed, rec.judged = rec.observe(), nil
		d.Pair(s.observed)
	}
	rec.written.After = fingerprint(s.observed)
	s.d = d
	return s, nil
}

// readable leaves out what is of a kind that may not be listed, or is not recorded: what is there of it is not known.
func (rec *reconciliation) readable(all []*child.Wanted) []*child.Wanted {
	out := make([]*child.Wanted, 0, len(all))
	for _, w := range all {
		s := rec.Sources[w.Kind.GroupKind()]
		if s.MayCreate(w.Name.Namespace) {
			out = append(out, w)
			continue
		}
		reason := v1.ReasonChildRequestFailed
		if cache := s.For(w.Name.Namespace); cache != nil && apierrors.IsForbidden(cache.Err()) {
			reason = v1.ReasonForbidden
		}
		rec.problems = append(rec.problems, &problem.Problem{Reason: reason, Message: fmt.Sprintf(
			"%s cannot read %s: the condition Watching of TemplateController %s says why%s", rights.Who(rec.As), rec.Rights.Claim(rights.Children, s.Kind, s.Scope(w.Name.Namespace)).Brief(), rec.Name, running.Untouched)})
	}
	return out
}

// observe returns the children as they are now, own writes included.
func (rec *reconciliation) observe() []*child.Live { return rec.ChildrenOf(rec.parent) }

// content is the parent as JSON data, which nobody may change.
func (rec *reconciliation) content() map[string]any {
	if rec.decoded == nil {
		_ = rec.budget.Spend(rec.parent.ContentBytes()) // when this fails, so does the next template
		rec.decoded = rec.parent.Content()
	}
	return rec.decoded
}

// input is what the templates see.
func (rec *reconciliation) input(observed []*child.Live) *render.Input {
	in := &render.Input{Parent: rec.content(), Ready: readiness.IsReady, MayHave: rec.MayHave, Pause: rec.pause, Budget: &rec.budget, Observed: view.Observed(observed, &rec.budget)}
	if len(rec.Related) > 0 {
		in.Related = rec.related
		if rec.readsLogs() {
			in.Logs = rec.logsOf
		}
	}
	return in
}

// perRequest is how many times the size of an object a request for it takes: its text, what is sent of it, and the answer.
const perRequest = 8

// settle gives back the memory that the templates have needed, but for what they have yielded and for a request of that
// size at a time.
func (rec *reconciliation) settle(request int) {
	rec.memory.Settle(rec.budget.Kept() + perRequest*request)
}

func (rec *reconciliation) result() Result {
	result := Result{Retry: rec.problems.Retry(), Again: rec.seesMore() || rec.rollsOn() || rec.mayRelease(), Denial: rec.problems.Denial(), Outcome: rec.outcome()}
	if result.Retry == problem.RetryOnChange && rec.unrenewed {
		result.Retry = problem.RetrySlow
	}
	if result.Retry == problem.RetryOnChange {
		result.After = queue.Jitter(rec.Resync)
		result = result.also(Result{After: rec.settling})
		if rec.failed() {
			result = result.also(Result{After: announce.RepeatAfter})
		}
	}
	return result
}

// seesMore reports whether the pass has written something that templates read and were rendered without. No
// watch tells of own writes. The status template has seen the children as they were written.
func (rec *reconciliation) seesMore() bool {
	reads := rec.Program.Reads()
	return rec.visible || rec.opened || rec.written.Children && reads.Children
}
