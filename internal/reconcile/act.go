package reconcile

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/kube/answers"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/measure"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/seal"
)

// act carries the plan out. What is to be removed is, when everything else has
// succeeded.
func (p *pass) act(ctx context.Context) {
	before := len(p.problems)
	for _, a := range p.plan.apply {
		if a.verb == reseal {
			p.reseal(ctx, a.live)
		} else if issue := p.apply(ctx, a); issue != nil {
			p.problems = append(p.problems, issue)
		}
	}
	if len(p.problems) > before {
		return
	}
	for _, a := range p.plan.remove {
		if issue := p.remove(ctx, a); issue != nil {
			p.problems = append(p.problems, issue)
		}
	}
}

// apply creates or changes one child.
func (p *pass) apply(ctx context.Context, a action) *problem.Problem {
	if p.flaps != nil {
		p.flaps.Apply(a.wanted.id().String(), a.wanted.content, a.drift, p.author().Path)
	}
	after, issue, err := p.write(ctx, a)
	switch {
	case issue != nil:
		return issue
	case a.verb == remark && apierrors.IsNotFound(err):
		return justGone(a.wanted)
	case stale(err):
		return &problem.Problem{Reason: v1.ReasonProgressing, Message: a.wanted.id().String() + " is being replaced", Waiting: true, Retry: problem.RetrySoon}
	case err != nil:
		issue = p.rights.Refusal(p.author().About(err, a.wanted.content), string(a.verb)+" "+a.wanted.id().String(), a.wanted.location().Namespace, a.wanted.kind)
		issue.About = a.wanted.hash
		issue.NameQuantity(a.wanted.content, p.author())
		return issue
	}
	p.written.Children = true
	p.keep(after, a.wanted.kind)
	klog.FromContext(ctx).Info("applied child", "controller", p.name, "parent", p.key.Parent.String(), "child", a.wanted.id().String(), "verb", a.verb, "taken", a.drift != "")
	return nil
}

// keep has the cache know an object of ours as a write has left it.
func (p *pass) keep(after *object.Object, kind kind.Kind) {
	after.Note(object.Ours)
	p.sources[kind.GroupKind()].in(after.Namespace()).Put(after, p.name)
	if p.adopting {
		p.r.controllers.queue.AddAfter(p.name, countsDelay) // it may have been the last one
	}
}

// reseal renews the seal of an object of ours that is to stay and that no entry of spec.children knows. Where that fails, a later
// pass tries again: nothing else depends on it.
func (p *pass) reseal(ctx context.Context, l *live) {
	w := &wanted{child: &v1.Child{Name: l.from}, kind: l.kind, name: l.object.Key(), marks: marks{maker: p.maker, child: &v1.Child{Name: l.from}, kind: l.kind.GroupKind()}}
	change := kube.Metadata{UID: l.object.UID(), Annotations: map[string]any{v1.AnnotationSeal: w.marks.renewed(l.object)}}
	after, err := p.cluster.SetMetadata(ctx, l.location(), change, p.manager)
	p.meter.Write(measure.Update, answerOf(err))
	if err != nil {
		p.unrenewed = true
		klog.FromContext(ctx).Info("cannot renew the seal of a child, will retry", "controller", p.name, "parent", p.key.Parent.String(), "child", l.id().String(), "reason", problem.PublicReason(err))
		return
	}
	p.keep(after, l.kind)
	klog.FromContext(ctx).V(2).Info("renewed the seal of a child", "controller", p.name, "parent", p.key.Parent.String(), "child", l.id().String())
}

// write makes the requests for one child, and returns what the object is then.
func (p *pass) write(ctx context.Context, a action) (*object.Object, *problem.Problem, error) {
	switch a.verb {
	case create:
		after, err := p.send(ctx, a.wanted, "resourceVersion", "1") // see kube.Client.Apply
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			return p.takeOver(ctx, a.wanted)
		}
		if err == nil && a.wanted.marks.unsealed(after) { // the clock was wrong
			after, err = p.mark(ctx, a.wanted, after)
		}
		return after, nil, err
	case remark:
		after, err := p.mark(ctx, a.wanted, a.live.object)
		return after, nil, err
	case update, remove, reseal:
	}
	after, err := p.change(ctx, a.wanted, a.live.object)
	return after, nil, err
}

// change brings an object in line with all that is wanted of it. An apply leaves marks that are to go where they
// have been set by another kind of request.
func (p *pass) change(ctx context.Context, w *wanted, there *object.Object) (*object.Object, error) {
	after, err := p.send(ctx, w, "uid", string(there.UID()))
	if err == nil && w.marks.differ(after) {
		return p.mark(ctx, w, after)
	}
	return after, err
}

// mark gives an object its marks, and changes nothing else.
func (p *pass) mark(ctx context.Context, w *wanted, there *object.Object) (*object.Object, error) {
	after, err := p.cluster.SetMetadata(ctx, w.location(), w.marks.change(there), p.manager)
	p.meter.Write(measure.Update, answerOf(err))
	return after, err
}

// send applies the child with one more field in its metadata.
func (p *pass) send(ctx context.Context, w *wanted, field, value string) (*object.Object, error) {
	after, err := p.cluster.Apply(ctx, w.location(), w.body(field, value), p.manager)
	verb := measure.Update
	if field == "resourceVersion" {
		verb = measure.Create
	}
	p.meter.Write(verb, answerOf(err))
	if err == nil {
		after.Note(object.Ours | object.Fresh)
		w.marks.maker.seals.Calibrate(seal.Read(after.Annotation(v1.AnnotationSeal)).Applied, after.AppliedAt())
	}
	return after, err
}

// stale reports whether the object was replaced or deleted since it was read; newer data is on
// its way.
func stale(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsInvalid(err) &&
		slices.ContainsFunc(answers.Details(err).Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}

// takeOver looks at the object that is in the way of a new child. If it is ours after all,
// it is brought in line.
func (p *pass) takeOver(ctx context.Context, w *wanted) (*object.Object, *problem.Problem, error) {
	there, err := p.cluster.Get(ctx, w.location())
	if apierrors.IsNotFound(err) {
		return nil, justGone(w), nil
	}
	if err != nil {
		return nil, nil, err
	}
	if issue := p.inTheWay(there, w); issue != nil {
		if p.bereft(there, w.kind.GroupKind()) {
			p.bereaved = append(p.bereaved, newLive(w.kind, there))
		}
		return nil, issue, nil
	}
	switch strategy := w.child.UpdateStrategy.Type; {
	case strategy == v1.UpdateRecreate && outdated(w, there):
		return nil, p.replace(ctx, there, w), nil
	case strategy == v1.UpdateRecreate, strategy == v1.UpdateCreateOnly, strategy == v1.UpdateOnDelete:
		return p.relabel(ctx, there, w)
	}
	after, err := p.change(ctx, w, there)
	return after, nil, err
}

// justGone says that an object that was in the way a moment ago is there no more.
func justGone(w *wanted) *problem.Problem {
	return &problem.Problem{Reason: v1.ReasonProgressing, Message: w.id().String() + " has just gone", Waiting: true, Retry: problem.RetryNow}
}

// relabel gives an object of ours that no watch shows its labels back, and leaves alone whatever
// else somebody has changed.
func (p *pass) relabel(ctx context.Context, there *object.Object, w *wanted) (*object.Object, *problem.Problem, error) {
	after, err := p.mark(ctx, w, there)
	switch {
	case apierrors.IsNotFound(err):
		return nil, justGone(w), nil
	case err == nil && w.child.UpdateStrategy.Type == v1.UpdateOnDelete && outdated(w, after):
		p.plan.outdated++ // it was not there to be counted when the plan was made
	}
	return after, nil, err
}

// replace deletes an object of ours that no watch shows, because it has lost its label. The one that
// follows it is made when it is gone.
func (p *pass) replace(ctx context.Context, there *object.Object, w *wanted) *problem.Problem {
	if !p.sure || !p.r.controllers.confirmed(ctx, p.controller) {
		return &problem.Problem{Reason: v1.ReasonProgressing, Message: w.id().String() + " is to be replaced once all is known that decides about it", Waiting: true, Retry: problem.RetrySlow}
	}
	if issue := p.remove(ctx, action{verb: remove, live: newLive(w.kind, there), foreground: true}); issue != nil {
		return issue
	}
	return &problem.Problem{Reason: v1.ReasonProgressing, Message: w.id().String() + " is being replaced", Waiting: true, Retry: problem.RetrySoon}
}

// inTheWay says why an object cannot be taken for the child, or nil when it is ours.
func (p *pass) inTheWay(there *object.Object, w *wanted) *problem.Problem {
	owner, _ := there.Controller()
	switch {
	case there.Deleting():
		return &problem.Problem{Reason: v1.ReasonProgressing, Message: w.id().String() + " is being deleted; it is made anew once it is gone", Waiting: true, Retry: problem.RetrySoon}
	case p.ours(there, w.kind.GroupKind(), p.parent.UID()):
		return nil
	case p.earlier(owner):
		return &problem.Problem{Reason: v1.ReasonProgressing, Message: w.id().String() + " belongs to an earlier object of the parent's name; it is made anew once that one is collected", Waiting: true, Retry: problem.RetrySoon}
	}
	conflict := problem.Newf(v1.ReasonChildConflict, "%s exists already and %s", w.id(), p.conflict(there, w.kind.GroupKind()))
	conflict.Retry = problem.RetrySlow
	return conflict
}

// remove asks for the deletion of one child.
func (p *pass) remove(ctx context.Context, a action) *problem.Problem {
	propagation := metav1.DeletePropagationBackground
	if a.foreground {
		propagation = metav1.DeletePropagationForeground
	}
	if p.flaps != nil && !a.foreground {
		p.flaps.Remove(a.live.id().String())
	}
	if accepted, issue := p.discard(ctx, a.live, propagation); !accepted {
		return issue
	}
	p.written.Children = true
	klog.FromContext(ctx).Info("deleted child", "controller", p.name, "parent", p.key.Parent.String(), "child", a.live.id().String())
	return nil
}

// discard asks for the deletion of a child and reports whether the server has accepted that. Where it has not, and there
// is no problem, another object has that name now, of which the watch tells.
func (c *controller) discard(ctx context.Context, l *live, propagation metav1.DeletionPropagation) (accepted bool, issue *problem.Problem) {
	err := c.cluster.Delete(ctx, l.location(), l.object.UID(), propagation)
	c.meter.Write(measure.Delete, answerOf(err))
	switch {
	case stale(err):
		return false, nil
	case err != nil:
		return false, c.rights.Refusal(err, "delete "+l.id().String(), l.location().Namespace, l.kind)
	}
	c.noteDeletion(l)
	return true, nil
}

func (w *wanted) location() kube.Location { return locate(w.kind, w.name) }
func (l *live) location() kube.Location   { return locate(l.kind, l.object.Key()) }

func locate(kind kind.Kind, name types.NamespacedName) kube.Location {
	return kube.Location{Resource: kind.Resource, Namespace: name.Namespace, Name: name.Name}
}
