package reconcile

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/answers"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/measure"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// act carries the plan out. What is to be removed is, when everything else has
// succeeded. Without the finalizer that the parent needs nothing is done; one that it does not need is in nobody's way.
func (rec *reconciliation) act(ctx context.Context) {
	if issue := rec.holdFinalizer(ctx); issue != nil {
		rec.problems = append(rec.problems, issue)
		return
	}
	rec.carryOut(ctx)
	if issue := rec.dropFinalizer(ctx); issue != nil {
		rec.problems = append(rec.problems, issue)
	}
}

func (rec *reconciliation) carryOut(ctx context.Context) {
	defer rec.recordDone()
	before := len(rec.problems)
	for i := 0; i < len(rec.plan.Apply); i++ { // goOn may add to them
		if a := rec.plan.Apply[i]; a.Verb == plan.Seal {
			rec.reseal(ctx, a.Live)
		} else if issue := rec.apply(ctx, a); issue != nil {
			rec.problems = append(rec.problems, issue)
		}
	}
	if len(rec.problems) > before {
		return
	}
	for _, a := range rec.plan.Remove {
		if !rec.evidence.standsWhole(rec) {
			rec.problems = append(rec.problems, rec.outdated())
			return
		}
		if issue := rec.remove(ctx, a); issue != nil {
			rec.problems = append(rec.problems, issue)
		}
	}
}

// apply creates or changes one child.
func (rec *reconciliation) apply(ctx context.Context, a plan.Action) *problem.Problem {
	if rec.rewrites != nil {
		rec.rewrites.Apply(a.Wanted.ID().String(), a.Wanted.Content, a.Drift, rec.Author().Path)
	}
	after, issue, err := rec.write(ctx, a)
	switch {
	case issue != nil:
		return issue
	case a.Verb == plan.Mark && answers.MissingObject(err):
		return justGone(a.Wanted)
	case errors.Is(err, errOvertaken):
		return &problem.Problem{Reason: v1.ReasonProgressing, Message: a.Wanted.ID().String() + " is being replaced", Waiting: true, Retry: problem.RetrySoon}
	case err != nil:
		issue = rec.Rights.Refusal(rec.Author().About(err, a.Wanted.Content), string(a.Verb)+" "+a.Wanted.ID().String(), a.Wanted.Name.Namespace, a.Wanted.Kind)
		issue.About = a.Wanted.Hash
		issue.NameQuantity(a.Wanted.Content, rec.Author())
		return issue
	}
	rec.written.Children = true
	rec.reported.wrote(a.Verb, a.Wanted.Entry.Name, a.Wanted.ID())
	rec.keep(after, a.Wanted.Kind)
	rec.noteCorrection(a)
	rec.goOn(a, after)
	klog.FromContext(ctx).Info("applied child", "controller", rec.Name, "parent", rec.key.Parent.String(), "child", a.Wanted.ID().String(), "verb", a.Verb, "taken", a.Drift != "")
	return nil
}

// keep has the cache know an object of ours as a write has left it.
func (rec *reconciliation) keep(after *object.Object, kind kind.Kind) {
	child.NoteWritten(after)
	rec.Sources[kind.GroupKind()].For(after.Namespace()).Put(after, rec.Name)
	if rec.Factory.Adopting {
		rec.r.SyncSoon(rec.Name) // it may have been the last one
	}
}

// reseal renews the seal of an object of ours that is to stay and that no entry of spec.children knows. Where that fails, a later
// pass tries again: nothing else depends on it.
func (rec *reconciliation) reseal(ctx context.Context, l *child.Live) {
	change := request.Metadata(rec.maker.Reseal(l))
	after, err := rec.Cluster.SetMetadata(ctx, running.LocateLive(l), change, rec.Manager)
	rec.Meter.Write(measure.Update, running.AnswerOf(err))
	if err != nil {
		rec.unrenewed = true
		klog.FromContext(ctx).Info("cannot renew the seal of a child, will retry", "controller", rec.Name, "parent", rec.key.Parent.String(), "child", l.ID().String(), "reason", problem.PublicReason(err))
		return
	}
	rec.keep(after, l.Kind)
	klog.FromContext(ctx).V(2).Info("renewed the seal of a child", "controller", rec.Name, "parent", rec.key.Parent.String(), "child", l.ID().String())
}

// write makes the requests for one child, and returns what the object is then.
func (rec *reconciliation) write(ctx context.Context, a plan.Action) (*object.Object, *problem.Problem, error) {
	switch a.Verb {
	case plan.Create:
		return rec.create(ctx, a.Wanted)
	case plan.Mark:
		after, err := rec.mark(ctx, a.Wanted, a.Live.Object)
		return after, nil, err
	case plan.Update, plan.Delete, plan.Seal:
	}
	after, err := rec.change(ctx, a.Wanted, a.Live.Object)
	return after, nil, err
}

// create makes one child, or takes over what has its name. Where the server says that the name is taken and shows no such object, that
// may have just been deleted: a second answer of that kind is a refusal.
func (rec *reconciliation) create(ctx context.Context, w *child.Wanted) (*object.Object, *problem.Problem, error) {
	var refused error
	for range 2 {
		after, err := rec.send(ctx, w, nil) // see kube.Client.Apply
		if err == nil || !problem.NameTaken(err) {
			return after, nil, err
		}
		there, gone := rec.Cluster.Get(ctx, locateWanted(w))
		if gone == nil {
			return rec.takeOver(ctx, there, w)
		}
		if !answers.MissingObject(gone) {
			return nil, nil, gone
		}
		refused = err
	}
	return nil, nil, refused
}

// errOvertaken says that an object has been replaced, deleted or changed since it was read; newer data is on its way.
var errOvertaken = errors.New("the object has changed since it was read")

// change brings an object in line with all that is wanted of it. An apply leaves marks that are to go where they
// have been set by another kind of request.
func (rec *reconciliation) change(ctx context.Context, w *child.Wanted, there *object.Object) (*object.Object, error) {
	after, err := rec.send(ctx, w, there)
	if rec.Overtaken(ctx, err, locateWanted(w), there.UID(), "") {
		return nil, errOvertaken
	}
	if err == nil && w.NeedsMark(after) {
		return rec.mark(ctx, w, after)
	}
	return after, err
}

// mark gives an object its marks, and changes nothing else.
func (rec *reconciliation) mark(ctx context.Context, w *child.Wanted, there *object.Object) (*object.Object, error) {
	change := request.Metadata(w.Mark(there))
	after, err := rec.Cluster.SetMetadata(ctx, locateWanted(w), change, rec.Manager)
	rec.Meter.Write(measure.Update, running.AnswerOf(err))
	if rec.Overtaken(ctx, err, locateWanted(w), there.UID(), change.Version) {
		return nil, errOvertaken
	}
	if err == nil {
		after.SetOwned(there.Owned()) // so that changes by others in the meantime are detected
	}
	return after, err
}

// send applies the child to the object that is there; nil creates it.
func (rec *reconciliation) send(ctx context.Context, w *child.Wanted, there *object.Object) (*object.Object, error) {
	verb, field, value := measure.Create, "resourceVersion", "1"
	if there != nil {
		verb, field, value = measure.Update, "uid", string(there.UID())
	}
	after, err := rec.Cluster.Apply(ctx, locateWanted(w), w.Body(field, value, there), rec.Manager)
	rec.Meter.Write(verb, running.AnswerOf(err))
	if err == nil {
		w.Applied(after)
		if spec.Rolls(w.Entry) {
			rec.r.settling.note(after.UID(), rec.r.Clock.Now())
		}
	}
	return after, err
}

// takeOver looks at the object that is in the way of a new child. If it is ours after all,
// it is brought in line.
func (rec *reconciliation) takeOver(ctx context.Context, there *object.Object, w *child.Wanted) (*object.Object, *problem.Problem, error) {
	rec.Sources[w.Kind.GroupKind()].For(there.Namespace()).NoteRestored(there)
	if issue := rec.Factory.InTheWay(there, w, rec.parent); issue != nil {
		if rec.Factory.MadeForEarlier(there, w.Kind.GroupKind(), rec.parent) {
			rec.unlabelled = append(rec.unlabelled, rec.Factory.Live(w.Kind, there))
		}
		return nil, issue, nil
	}
	switch strategy := w.Entry.UpdateStrategy.Type; {
	case strategy == v1.UpdateRecreate && w.Replaceable(there):
		return nil, rec.replace(ctx, there, w), nil
	case strategy == v1.UpdateRecreate, strategy == v1.UpdateCreateOnly, strategy == v1.UpdateOnDelete:
		return rec.relabel(ctx, there, w)
	}
	after, err := rec.change(ctx, w, there)
	return after, nil, err
}

// justGone says that an object that was in the way a moment ago is there no more.
func justGone(w *child.Wanted) *problem.Problem {
	return &problem.Problem{Reason: v1.ReasonProgressing, Message: w.ID().String() + " has just gone", Waiting: true, Retry: problem.RetryNow}
}

// relabel gives an object of ours that no watch shows its labels back, and leaves alone whatever
// else somebody has changed.
func (rec *reconciliation) relabel(ctx context.Context, there *object.Object, w *child.Wanted) (*object.Object, *problem.Problem, error) {
	after, err := rec.mark(ctx, w, there)
	switch {
	case answers.MissingObject(err):
		return nil, justGone(w), nil
	case err == nil && w.Entry.UpdateStrategy.Type != v1.UpdateCreateOnly && w.Outdated(after):
		rec.plan.Outdated++ // it was not there to be counted when the plan was made
	}
	return after, nil, err
}

// replace deletes an object of ours that no watch shows, because it has lost its label. The one that
// follows it is made when it is gone.
func (rec *reconciliation) replace(ctx context.Context, there *object.Object, w *child.Wanted) *problem.Problem {
	if !rec.sure {
		return &problem.Problem{Reason: v1.ReasonProgressing, Message: w.ID().String() + " is to be replaced once all is known that decides about it", Waiting: true, Retry: problem.RetrySlow}
	}
	if !rec.r.Controllers.MayPrune(ctx, rec.Controller) {
		return rec.superseded()
	}
	l := rec.Factory.Live(w.Kind, there)
	l.Wanted = w
	if issue := rec.remove(ctx, plan.Action{Verb: plan.Delete, Live: l, Foreground: true}); issue != nil {
		return issue
	}
	return &problem.Problem{Reason: v1.ReasonProgressing, Message: w.ID().String() + " is being replaced", Waiting: true, Retry: problem.RetrySoon}
}

// remove asks for the deletion of one child.
func (rec *reconciliation) remove(ctx context.Context, a plan.Action) *problem.Problem {
	if !rec.evidence.stands(rec) {
		return rec.outdated()
	}
	propagation := metav1.DeletePropagationBackground
	if a.Foreground {
		propagation = metav1.DeletePropagationForeground
	}
	if rec.rewrites != nil && !a.Foreground {
		rec.rewrites.Remove(a.Live.ID().String())
	}
	if accepted, issue := rec.Delete(ctx, a.Live, propagation); !accepted {
		return issue
	}
	rec.done.deleted(a.Live)
	rec.reported.wrote(plan.Delete, a.Live.Entry, a.Live.ID())
	rec.written.Children = true
	klog.FromContext(ctx).Info("deleted child", "controller", rec.Name, "parent", rec.key.Parent.String(), "child", a.Live.ID().String())
	return nil
}

func locateWanted(w *child.Wanted) request.Location { return running.Locate(w.Kind, w.Name) }
