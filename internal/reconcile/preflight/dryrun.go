package preflight

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// Attempt is the dry run of one reconciliation of a parent.
type Attempt struct {
	Parent child.ID
	// Ran is false if the parent was not reconciled; NotChecked has the reason.
	Ran bool
	// Writes are the attempted writes, one for each object and subresource.
	Writes []*Write
	// Problems are those that the reconciliation would report.
	Problems problem.List
	// UnreadKinds are kinds of children that the controller does not watch. If there are any, nothing was written: the attempt must be repeated
	// with a controller that watches them.
	UnreadKinds []schema.GroupVersionKind
	// NotChecked describes what is unknown, and why, without values of objects. It does not include the results of Writes.
	NotChecked []string
	// Retry is true if the API server did not respond, or a cache is syncing.
	Retry bool
	// Denied is true if templater lacks a permission.
	Denied bool

	desired []*child.Wanted
	written map[part]*Write // as Writes
}

// DryRun reconciles a parent with a controller that need not run, and sends each write as a dry run. The parent's caches must be those of the
// running controller. Nothing is stored, and no cache, history, Event, count or metric changes.
func (p *Planner) DryRun(ctx context.Context, c *controller.Controller, parent types.NamespacedName) Attempt {
	a := Attempt{Parent: child.ID{Kind: c.GVK.GroupKind(), Name: parent}}
	writes := &recorder{Client: p.Client(c.As), writes: map[part]*Write{}}
	writes.of = c.ForDryRun(writes)
	if why, syncing := unable(writes.of, parent); why != "" {
		a.NotChecked, a.Retry = []string{a.Parent.String() + ": " + why}, syncing
		return a
	}
	p.reconcile(ctx, writes.of, &a)
	a.Writes, a.written = writes.order, writes.writes
	a.settle(writes.over)
	if ctx.Err() != nil { // the reconciliation may have ended early
		a.Ran, a.Retry = false, true
		a.NotChecked = append(a.NotChecked, a.Parent.String()+": the dry runs took too long")
	}
	return a
}

// unable returns why a parent cannot be reconciled, or "", and whether that is only because a cache is syncing.
func unable(c *controller.Controller, name types.NamespacedName) (why string, syncing bool) {
	if !c.Runs() || c.TeardownOnly {
		return "its definition is suspended or rejected, or its kind is not served", false
	}
	if !c.ParentsSynced(name.Namespace) || c.SyncingChildren(name.Namespace, true) || c.SyncingRelated() {
		return "the caches are syncing", true
	}
	cache := c.ParentCache(name.Namespace)
	if cache == nil || cache.Get(name) == nil {
		return "it does not exist", false
	}
	if cache.Get(name).Deleting() {
		return "it is being deleted", false
	}
	return "", false
}

// reconcile reconciles the parent with a Reconciler of its own.
func (p *Planner) reconcile(ctx context.Context, c *controller.Controller, a *Attempt) {
	defer func() {
		if v := recover(); v != nil {
			klog.FromContext(ctx).Error(nil, "panic in a dry run", "controller", c.Name, "parent", a.Parent.Name.String(), "stack", string(debug.Stack()))
			a.NotChecked = append(a.NotChecked, a.Parent.String()+": "+reconcile.ErrPanic.Error())
		}
	}()
	detached := &reconcile.Detached{Controller: c, OtherWrites: p.MayWrite}
	r := detached.New(reconcile.Options{Clock: p.Clock, History: queue.NewHistory(p.Clock), Logs: podlogs.Fixed{}, Memory: p.Memory})
	var report status.Report
	quiet := klog.NewContext(queue.WithoutWorker(ctx), klog.Logger{})
	r.ReconcileAndReport(quiet, queue.Key{Controller: c.Name, Parent: a.Parent.Name}, &report)
	a.Ran, a.Problems, a.desired, a.UnreadKinds = true, report.Problems, report.Desired.Wanted, detached.Unread
}

// settle completes the attempt after the reconciliation. over is the number of writes that were not sent.
func (a *Attempt) settle(over int) {
	recorded := map[string]bool{} // objects with an error in Writes
	for _, w := range a.Writes {
		if w.partial() && !slices.ContainsFunc(a.Problems, func(p *problem.Problem) bool { return p.Reason == w.reason() }) {
			w.Outcome, w.Why = Accepted, "" // it was repeated with other content, such as a shorter message
		}
		a.Retry, a.Denied = a.Retry || w.Outcome == Unanswered, a.Denied || w.Outcome == Denied
		recorded[w.object()] = w.Why != "" && w.Outcome != Conflict
	}
	for _, issue := range a.Problems {
		a.Denied = a.Denied || issue.Denial != (problem.Denial{})
		_, object, _ := strings.Cut(issue.Write, " ")
		if issue.Message != "" && !recorded[object] && !slices.Contains(elsewhere, issue.Reason) {
			a.NotChecked = append(a.NotChecked, a.Parent.String()+": "+issue.Message)
		}
	}
	for _, w := range a.desired {
		if verb, why := a.needs(w); verb != "" {
			a.NotChecked = append(a.NotChecked, string(verb)+" "+w.ID().String()+a.of()+": "+why)
		}
	}
	if over > 0 {
		a.NotChecked = append(a.NotChecked, fmt.Sprintf("%s: %s not sent: a dry run has at most %d", a.Parent, problem.Count(over, "write was", "writes were"), mostDryRuns))
	}
}

// elsewhere are the reasons of problems that are in Writes, or that no write causes.
var elsewhere = []string{v1.ReasonStatusRejected, v1.ReasonFinalizerRejected, v1.ReasonChildFailing}

// needs returns the verb of the write that a desired child needs and that was not attempted, and why it was not, or "".
func (a *Attempt) needs(w *child.Wanted) (verb Verb, why string) {
	sent := a.writeOf(w)
	switch {
	case len(a.UnreadKinds) > 0 || sent != nil && (sent.Verb != Delete || sent.Why != ""):
		return "", ""
	case sent != nil:
		return Create, "the object is deleted first"
	case w.Live == nil:
		verb = Create
	case w.Live.Object.Deleting() || !w.Changes(w.Live.Object):
		return "", ""
	case w.Entry.UpdateStrategy.Type == v1.UpdateRecreate:
		verb = Replace
	default:
		verb = Update
	}
	return verb, "it waits for another write or object"
}

// writeOf returns the attempted write of a desired child, or nil.
func (a *Attempt) writeOf(w *child.Wanted) *Write {
	return a.written[partOf(controller.Locate(w.Kind, w.Name), Update)]
}

// of returns the end of a text about an object of the parent.
func (a *Attempt) of() string { return " for " + a.Parent.String() }

// describe returns the text about a write that was not accepted.
func (a *Attempt) describe(w *Write) string {
	if w.partial() {
		return w.What + ": " + w.Why
	}
	return w.What + a.of() + ": " + w.Why
}
