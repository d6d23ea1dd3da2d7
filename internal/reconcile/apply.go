package reconcile

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// applier executes the plan of a convergence.
type applier struct {
	*convergence
	events *childEvents
	failed []failedWrite
	// asked is whether the parent has been read from the API server, and exists whether that confirmed that this parent exists.
	asked, exists bool
}

// childEvents are changes of children that no condition reports afterwards.
type childEvents struct{ pruned, recreated, corrected []string }

// run executes the plan. Updates are not sent if a write that they depend on has failed. Deletions come last, and only if all other writes
// have succeeded; those that replace objects only need the writes that they depend on.
func (a *applier) run(ctx context.Context) {
	defer a.recordEvents()
	defer a.reportStopped()
	for i := 0; i < len(a.plan.Apply); i++ { // proceed may append
		action := a.plan.Apply[i]
		switch {
		case action.Verb == plan.Seal:
			a.reseal(ctx, action.Live)
		case action.Verb == plan.Update && a.cause(action.Wanted) != nil:
		default:
			if issue := a.applyChild(ctx, action); issue != nil {
				a.fail(action.Wanted.Entry, action.Verb, issue)
			}
		}
	}
	applied := len(a.failed) == 0
	for _, action := range a.plan.Remove {
		w := action.Live.Wanted
		if !applied && !a.mayReplace(w) {
			continue
		}
		switch issue := a.remove(ctx, action); {
		case issue != nil && w != nil:
			a.fail(w.Entry, action.Verb, issue)
		case issue != nil:
			a.problems = append(a.problems, issue)
		}
		if a.deletions.postponed {
			return
		}
	}
}

// recordEvents publishes Normal Events, one per kind of change. It publishes none if a loop is suspected, because the ready condition and a
// Warning report that.
func (a *applier) recordEvents() {
	if a.guard.rewrites != nil {
		return
	}
	a.recordEvent(v1.ReasonSuccessfulDelete, "pruned because no template renders it: ", a.events.pruned)
	a.recordEvent(v1.ReasonSuccessfulDelete, "deleted to be recreated: ", a.events.recreated)
	a.recordEvent(v1.ReasonDriftCorrected, "reverted changes by another client: ", a.events.corrected)
}

func (a *applier) recordEvent(reason, text string, all []string) {
	if len(all) == 0 {
		return
	}
	a.r.Recorder.Announce(a.As, a.key, request.Announcement{About: a.parent, Type: corev1.EventTypeNormal, Reason: reason, Message: text + problem.Join(all)})
}

// applyChild creates or updates one child.
func (a *applier) applyChild(ctx context.Context, action plan.Action) *problem.Problem {
	w := action.Wanted
	if a.guard.rewrites != nil {
		a.guard.rewrites.Apply(w.ID().String(), w.Content, action.Drift, a.Author().Path)
	}
	after, issue, err := a.write(ctx, action)
	switch {
	case issue != nil:
		return issue
	case action.Verb == plan.Mark && request.MissingObject(err):
		return w.JustDeleted()
	case errors.Is(err, errOvertaken):
		return w.BeingReplaced()
	case errors.Is(err, errUnconfirmed):
		return &problem.Problem{Reason: v1.ReasonProgressing, Message: w.ID().String() + " has no owner reference: it will be restored once the API server confirms that the parent exists", Waiting: true, Retry: problem.RetrySlow}
	case action.Verb == plan.Update && problem.Immutable(err) && w.RecreatesImmutable(action.Live.Object):
		return a.replaceLater(action)
	case err != nil:
		issue = a.Rights.Refusal(a.Author().About(err, w.Content), string(action.Verb)+" "+w.ID().String(), w.Name.Namespace, w.Kind)
		issue.About = w.Hash
		issue.NameQuantity(w.Content, a.Author())
		return issue
	}
	a.guard.written.Children = true
	a.report.Wrote(action.Verb, w.Entry.Name, w.ID())
	a.keep(after, w.Kind)
	if action.Drift != "" {
		a.events.corrected = append(a.events.corrected, w.ID().String()+" "+a.Author().Path(action.Drift, w.Content))
	}
	a.proceed(action, after)
	klog.FromContext(ctx).Info("applied child", "controller", a.Name, "parent", a.key.Parent.String(), "child", w.ID().String(), "verb", action.Verb, "driftCorrected", action.Drift != "")
	return nil
}

// proceed continues the rollout of a child template, if the object that was just written is already available.
func (a *applier) proceed(action plan.Action, after *object.Object) {
	entry := action.Wanted.Entry
	if spec.Rolls(entry) && a.availability().Of(&child.Live{Entry: entry.Name, Kind: action.Wanted.Kind, Object: after}) {
		a.plan.ContinueRollout(action)
	}
}

// reseal renews the seal of a child that is kept although no template renders it. If that fails, a later reconciliation retries: nothing else
// depends on it.
func (a *applier) reseal(ctx context.Context, l *child.Live) {
	change := a.desired.Maker.Reseal(l)
	after, err := a.Cluster.SetMetadata(ctx, controller.LocateLive(l), change, a.Manager)
	a.Meter.Write(record.Update, controller.AnswerOf(err))
	if err != nil {
		a.next.Retry = problem.RetrySlow
		klog.FromContext(ctx).Info("cannot renew the seal of a child, will retry", "controller", a.Name, "parent", a.key.Parent.String(), "child", l.ID().String(), "reason", problem.PublicReason(err))
		return
	}
	a.keep(after, l.Kind)
	klog.FromContext(ctx).V(2).Info("renewed the seal of a child", "controller", a.Name, "parent", a.key.Parent.String(), "child", l.ID().String())
}

// write sends the requests for one child, and returns the object after them.
func (a *applier) write(ctx context.Context, action plan.Action) (*object.Object, *problem.Problem, error) {
	switch action.Verb {
	case plan.Create:
		return a.create(ctx, action.Wanted)
	case plan.Mark:
		after, err := a.mark(ctx, action.Wanted, action.Live.Object)
		return after, nil, err
	case plan.Update, plan.Delete, plan.Seal:
	}
	after, err := a.change(ctx, action.Wanted, action.Live.Object)
	return after, nil, err
}

// create creates one child, or takes over an existing object of that name. If the API server reports that the object exists but cannot find it,
// the object may have just been deleted: a second such response is an error.
func (a *applier) create(ctx context.Context, w *child.Wanted) (*object.Object, *problem.Problem, error) {
	var refused error
	for range 2 {
		after, err := a.send(ctx, w, nil) // see kube.Client.Apply
		if err == nil {
			return a.releaseNew(ctx, w, after), w.NotReleasable(after), nil
		}
		if !problem.NameTaken(err) {
			return nil, nil, err
		}
		there, getErr := a.Cluster.Get(ctx, locateWanted(w))
		if getErr == nil {
			return a.takeOver(ctx, there, w)
		}
		if !request.MissingObject(getErr) {
			return nil, nil, getErr
		}
		refused = err
	}
	return nil, nil, refused
}

// errOvertaken means that an object has been replaced, deleted or modified since it was read. A watch will report that.
var errOvertaken = errors.New("the object has changed since it was read")

// errUnconfirmed means that an object lacks the owner reference, and the API server does not confirm that the parent exists.
var errUnconfirmed = errors.New("the parent is not known to exist")

// bindable returns an error if an object lacks the owner reference to the parent, and must not get it. The cache may still have a parent that
// was deleted with --cascade=orphan. With an owner reference to it, the garbage collector would delete the object. Kubernetes controllers follow
// the same rule for adoption, and also check only once per reconciliation.
func (a *applier) bindable(ctx context.Context, w *child.Wanted, there *object.Object) error {
	if !w.Marks.Binds(there) {
		return nil
	}
	if !a.asked {
		now, err := a.GetParent(ctx, a.key)
		a.asked, a.exists = true, err == nil && now != nil && now.UID() == a.parent.UID() && (!now.Deleting() || a.parent.Deleting())
	}
	if !a.exists {
		return errUnconfirmed
	}
	return nil
}

// change updates an object from its template. An apply does not remove labels and annotations that were set by other kinds of requests, so these
// may need another request.
func (a *applier) change(ctx context.Context, w *child.Wanted, there *object.Object) (*object.Object, error) {
	if err := a.bindable(ctx, w, there); err != nil {
		return nil, err
	}
	there, err := a.release(ctx, w, there)
	if err != nil {
		return nil, err
	}
	after, err := a.send(ctx, w, there)
	if a.Overtaken(ctx, err, locateWanted(w), there.UID(), w.Version(there)) {
		return nil, errOvertaken
	}
	if err == nil && w.NeedsMark(after) {
		return a.mark(ctx, w, after)
	}
	return after, err
}

// release gives up the createOnlyFields of an object that templater still owns, and returns the object after that. Without this, the next apply
// would reset them.
func (a *applier) release(ctx context.Context, w *child.Wanted, there *object.Object) (*object.Object, error) {
	if !w.NeedsRelease(there) {
		return there, nil
	}
	after, err := a.Cluster.ReleaseFields(ctx, locateWanted(w), w.Release(there))
	a.Meter.Write(record.Update, controller.AnswerOf(err))
	if request.MissingObject(err) || a.Overtaken(ctx, err, locateWanted(w), there.UID(), "") {
		return nil, errOvertaken
	}
	if err == nil {
		after.Follow(there)
	}
	return after, err
}

// releaseNew is release for an object that was just created. If it fails, the next reconciliation retries.
func (a *applier) releaseNew(ctx context.Context, w *child.Wanted, made *object.Object) *object.Object {
	after, err := a.release(ctx, w, made)
	if err != nil {
		a.next.Retry = problem.RetrySoon
		klog.FromContext(ctx).V(2).Info("cannot release createOnlyFields of a new child, will retry", "controller", a.Name, "parent", a.key.Parent.String(), "child", w.ID().String(), "reason", problem.PublicReason(err))
		return made
	}
	return after
}

// mark sets templater's metadata of an object, and changes nothing else.
func (a *applier) mark(ctx context.Context, w *child.Wanted, there *object.Object) (*object.Object, error) {
	if err := a.bindable(ctx, w, there); err != nil {
		return nil, err
	}
	released, err := a.release(ctx, w, there)
	if err != nil || released != there && !w.NeedsMark(released) && !w.Marks.KeyOutdated(released) {
		return released, err
	}
	there = released
	change := w.Mark(there)
	after, err := a.Cluster.SetMetadata(ctx, locateWanted(w), change, a.Manager)
	a.Meter.Write(record.Update, controller.AnswerOf(err))
	if a.Overtaken(ctx, err, locateWanted(w), there.UID(), change.Version) {
		return nil, errOvertaken
	}
	if err == nil {
		after.SetOwned(there.Owned()) // to detect changes by other clients in the meantime
	}
	return after, err
}

// send applies the child to the live object; nil creates it. A create sends resourceVersion "1", which the API server rejects if an object of
// that name exists, so it never overwrites one.
func (a *applier) send(ctx context.Context, w *child.Wanted, there *object.Object) (*object.Object, error) {
	verb, field, value := record.Create, "resourceVersion", "1"
	if there != nil {
		verb, field, value = record.Update, "uid", string(there.UID())
	}
	after, err := a.Cluster.Apply(ctx, locateWanted(w), w.Body(field, value, there), a.Manager)
	a.Meter.Write(verb, controller.AnswerOf(err))
	if err == nil {
		w.Applied(after)
		if spec.Rolls(w.Entry) {
			a.r.settling.Note(after.UID(), a.r.Clock.Now())
		}
	}
	return after, err
}

// takeOver updates an existing object with the name of a new child, if templater owns it. Otherwise it reports a conflict.
func (a *applier) takeOver(ctx context.Context, there *object.Object, w *child.Wanted) (*object.Object, *problem.Problem, error) {
	a.Sources[w.Kind.GroupKind()].For(there.Namespace()).NoteRestored(there)
	if issue := a.Factory.InTheWay(there, w, a.parent); issue != nil {
		if a.Factory.MadeForEarlier(there, w.Kind.GroupKind(), a.parent) {
			a.unlabeled = append(a.unlabeled, a.Factory.Live(w.Kind, there))
		}
		return nil, issue, nil
	}
	switch strategy := w.Entry.UpdateStrategy.Type; {
	case strategy == v1.UpdateRecreate && w.Replaceable(there):
		return nil, a.replace(ctx, there, w), nil
	case strategy == v1.UpdateRecreate, strategy == v1.UpdateCreateOnly, strategy == v1.UpdateOnDelete:
		return a.relabel(ctx, there, w)
	}
	after, err := a.change(ctx, w, there)
	if problem.Immutable(err) && w.RecreatesImmutable(there) {
		return nil, a.replace(ctx, there, w), nil
	}
	return after, nil, err
}

// relabel restores the labels of a child that no watch shows, and changes nothing else.
func (a *applier) relabel(ctx context.Context, there *object.Object, w *child.Wanted) (*object.Object, *problem.Problem, error) {
	after, err := a.mark(ctx, w, there)
	switch {
	case request.MissingObject(err):
		return nil, w.JustDeleted(), nil
	case err == nil && w.Entry.UpdateStrategy.Type != v1.UpdateCreateOnly && w.Outdated(after):
		a.plan.Outdated++ // the plan does not include it
	}
	return after, nil, err
}

// replaceLater plans the deletion of a child whose update was rejected because a field is immutable. It is recreated after the deletion.
func (a *applier) replaceLater(action plan.Action) *problem.Problem {
	if !a.complete {
		return incomplete(action.Wanted)
	}
	a.plan.Pending++
	a.plan.Remove = append(a.plan.Remove, plan.Action{Verb: plan.Delete, Live: action.Live, Foreground: true})
	return nil
}

// incomplete returns the problem that a child is not replaced yet.
func incomplete(w *child.Wanted) *problem.Problem {
	return &problem.Problem{Reason: v1.ReasonProgressing, Message: w.ID().String() + " will be recreated once all objects that its template reads have been synced", Waiting: true, Retry: problem.RetrySlow}
}

// replace deletes a child that no watch shows, because it has lost its label. It is recreated after the deletion.
func (a *applier) replace(ctx context.Context, there *object.Object, w *child.Wanted) *problem.Problem {
	if !a.complete {
		return incomplete(w)
	}
	l := a.Factory.Live(w.Kind, there)
	l.Wanted = w
	if issue := a.remove(ctx, plan.Action{Verb: plan.Delete, Live: l, Foreground: true}); issue != nil {
		return issue
	}
	return w.BeingReplaced()
}

// remove deletes one child.
func (a *applier) remove(ctx context.Context, action plan.Action) *problem.Problem {
	if !a.deletions.relatedCurrent() {
		return a.deletions.outdated()
	}
	accepted, issue := a.deletions.remove(ctx, action)
	switch {
	case !accepted:
	case action.Live.Wanted != nil:
		a.events.recreated = append(a.events.recreated, action.Live.ID().String())
	default:
		a.events.pruned = append(a.events.pruned, action.Live.ID().String())
	}
	return issue
}

func locateWanted(w *child.Wanted) request.Location { return controller.Locate(w.Kind, w.Name) }
