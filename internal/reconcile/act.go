package reconcile

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/object"
)

// act carries the plan out. What is to be removed is, when everything else has
// succeeded.
func (p *pass) act(ctx context.Context) {
	before := len(p.problems)
	for _, a := range p.plan.apply {
		if problem := p.apply(ctx, a); problem != nil {
			p.problems = append(p.problems, problem)
		}
	}
	if len(p.problems) > before {
		return
	}
	for _, a := range p.plan.remove {
		if problem := p.remove(ctx, a); problem != nil {
			p.problems = append(p.problems, problem)
		}
	}
}

// apply creates or updates one child.
func (p *pass) apply(ctx context.Context, a action) *Problem {
	if p.flaps != nil {
		p.flaps.apply(a)
	}
	var problem *Problem
	var after *object.Object
	var err error
	if a.verb == create {
		after, err = p.send(ctx, a.wanted, "resourceVersion", "1") // see kube.Client.Apply
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			after, problem, err = p.takeOver(ctx, a.wanted)
		}
	} else {
		after, err = p.send(ctx, a.wanted, "uid", string(a.live.object.UID()))
	}
	switch {
	case problem != nil:
		return problem
	case stale(err):
		return &Problem{Reason: v1.ReasonProgressing, Message: a.wanted.id().String() + " is being replaced", Waiting: true, Retry: RetrySoon}
	case err != nil:
		problem = p.refusal(err, string(a.verb)+" "+a.wanted.id().String(), a.wanted.location(), a.wanted.kind)
		problem.About = a.wanted.hash
		return problem
	}
	p.written.children = true
	p.sources[a.wanted.id().kind].in(a.wanted.name.Namespace).Put(after, p.name)
	klog.FromContext(ctx).Info("applied child", "controller", p.name, "parent", p.key.Parent.String(), "child", a.wanted.id().String(), "verb", a.verb, "taken", a.drift != "")
	return nil
}

// send applies the child with one more field in its metadata.
func (p *pass) send(ctx context.Context, w *wanted, field, value string) (*object.Object, error) {
	after, err := p.cluster.Apply(ctx, w.location(), w.body.with(w.hash, field, value), p.manager)
	verb := Update
	if field == "resourceVersion" {
		verb = Create
	}
	p.meter.Write(verb, answerOf(err))
	return after, err
}

// stale reports whether the object was replaced or deleted since it was read; newer data is on
// its way.
func stale(err error) bool {
	if apierrors.IsConflict(err) {
		return true
	}
	if !apierrors.IsInvalid(err) {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "metadata.uid" {
			return true
		}
	}
	return false
}

// takeOver looks at the object that is in the way of a new child. If it is ours after all,
// it is brought in line.
func (p *pass) takeOver(ctx context.Context, w *wanted) (*object.Object, *Problem, error) {
	there, err := p.cluster.Get(ctx, w.location())
	if apierrors.IsNotFound(err) {
		return nil, justGone(w), nil
	}
	if err != nil {
		return nil, nil, err
	}
	if problem := p.inTheWay(there, w); problem != nil {
		if p.bereft(there) {
			p.bereaved = append(p.bereaved, &live{child: w.child.Name, kind: w.kind, object: there})
		}
		return nil, problem, nil
	}
	switch strategy := w.child.UpdateStrategy.Type; {
	case strategy == v1.UpdateRecreate && outdated(w, there):
		return nil, p.replace(ctx, there, w), nil
	case strategy == v1.UpdateRecreate, strategy == v1.UpdateCreateOnly, strategy == v1.UpdateOnDelete:
		return p.relabel(ctx, there, w)
	}
	after, err := p.send(ctx, w, "uid", string(there.UID()))
	return after, nil, err
}

// justGone says that an object that was in the way a moment ago is there no more.
func justGone(w *wanted) *Problem {
	return &Problem{Reason: v1.ReasonProgressing, Message: w.id().String() + " has just gone", Waiting: true, Retry: RetryNow}
}

// relabel gives an object of ours that no watch shows its labels back, and leaves alone whatever
// else somebody has changed.
func (p *pass) relabel(ctx context.Context, there *object.Object, w *wanted) (*object.Object, *Problem, error) {
	own := map[string]string{}
	for key, value := range below(below(w.content, "metadata"), "labels") {
		if strings.HasPrefix(key, ownPrefix) || key == v1.LabelManagedBy {
			own[key], _ = value.(string)
		}
	}
	after, err := p.cluster.SetLabels(ctx, w.location(), there.UID(), own, p.manager)
	p.meter.Write(Update, answerOf(err))
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
func (p *pass) replace(ctx context.Context, there *object.Object, w *wanted) *Problem {
	if problem := p.remove(ctx, action{verb: remove, live: &live{child: w.child.Name, kind: w.kind, object: there}, foreground: true}); problem != nil {
		return problem
	}
	return &Problem{Reason: v1.ReasonProgressing, Message: w.id().String() + " is being replaced", Waiting: true, Retry: RetrySoon}
}

// inTheWay says why an object cannot be taken for the child, or nil when it is ours.
func (p *pass) inTheWay(there *object.Object, w *wanted) *Problem {
	owner, has := there.Controller()
	marked := there.Label(v1.LabelController) == p.name && there.Label(v1.LabelParentUID) == string(p.parent.UID())
	owned := there.Applied(p.manager, "") != nil
	ours := !has && marked && owned || has && owner.UID == p.parent.UID() && (marked || owned)
	switch {
	case there.Deleting():
		return &Problem{Reason: v1.ReasonProgressing, Message: w.id().String() + " is being deleted; it is made anew once it is gone", Waiting: true, Retry: RetrySoon}
	case ours:
		return nil
	case has && p.earlier(owner):
		return &Problem{Reason: v1.ReasonProgressing, Message: w.id().String() + " belongs to an earlier object of the parent's name; it is made anew once that one is collected", Waiting: true, Retry: RetrySoon}
	}
	conflict := problemf(v1.ReasonChildConflict, "%s exists already and %s: templater does not take it; delete it, or choose another name in the template", w.id(), whose(there))
	conflict.Retry = RetrySlow
	return conflict
}

// earlier reports whether an owner is an object of the parent's name that was there before it.
func (p *pass) earlier(owner object.Owner) bool {
	return owner.Kind == p.gvk.Kind && owner.Name == p.parent.Name() && owner.UID != p.parent.UID()
}

// bereft reports whether we have made the object for an earlier object of the parent's name.
func (p *pass) bereft(there *object.Object) bool {
	owner, has := there.Controller()
	return has && p.earlier(owner) && !there.Deleting() && p.made(there) && there.Applied(p.manager, "") != nil
}

func whose(there *object.Object) string {
	owner, has := there.Controller()
	other := there.Label(v1.LabelController)
	switch {
	case has && other != "":
		return "belongs to TemplateController " + other + " for " + owner.Kind + " " + owner.Name
	case has:
		return "belongs to " + owner.Kind + " " + owner.Name
	case other != "":
		return "belongs to TemplateController " + other
	}
	return "belongs to nobody"
}

// remove asks for the deletion of one child.
func (p *pass) remove(ctx context.Context, a action) *Problem {
	propagation := metav1.DeletePropagationBackground
	if a.foreground {
		propagation = metav1.DeletePropagationForeground
	}
	if p.flaps != nil && !a.foreground {
		p.flaps.remove(a.live.id().String())
	}
	err := p.cluster.Delete(ctx, a.live.location(), a.live.object.UID(), propagation)
	p.meter.Write(Delete, answerOf(err))
	if stale(err) {
		return nil // another object has that name now; the watch tells of it
	}
	if err != nil {
		return p.refusal(err, "delete "+a.live.id().String(), a.live.location(), a.live.kind)
	}
	p.written.children = true
	p.noteDeletion(a.live)
	klog.FromContext(ctx).Info("deleted child", "controller", p.name, "parent", p.key.Parent.String(), "child", a.live.id().String())
	return nil
}

func (w *wanted) location() kube.Location { return locate(w.kind, w.name) }
func (l *live) location() kube.Location   { return locate(l.kind, l.object.Key()) }

func locate(kind kube.Kind, name types.NamespacedName) kube.Location {
	return kube.Location{Resource: kind.Resource, Namespace: name.Namespace, Name: name.Name}
}
