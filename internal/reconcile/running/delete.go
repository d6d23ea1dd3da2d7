package running

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/kube/answers"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/measure"
	"github.com/templater-dev/templater/internal/reconcile/rights"
)

// Delete asks for the deletion of a child and reports whether the server has accepted that. Where it has not, and there
// is no problem, another object has that name now, of which the watch tells.
func (c *Controller) Delete(ctx context.Context, l *child.Live, propagation metav1.DeletionPropagation) (accepted bool, issue *problem.Problem) {
	err := c.Cluster.Delete(ctx, LocateLive(l), l.Object.UID(), propagation)
	c.Meter.Write(measure.Delete, AnswerOf(err))
	switch {
	case Stale(err):
		return false, nil
	case err != nil:
		return false, c.Rights.Refusal(err, "delete "+l.ID().String(), l.Object.Namespace(), l.Kind)
	}
	c.noteDeletion(l)
	return true, nil
}

// AnswerOf returns what the error of a write means.
func AnswerOf(err error) measure.Answer {
	switch {
	case err == nil:
		return measure.Accepted
	case Stale(err), apierrors.IsAlreadyExists(err):
		return measure.Conflict
	case rights.Denied(err):
		return measure.Forbidden
	case problem.Unanswered(err):
		return measure.NoAnswer
	}
	return measure.Rejected
}

// Stale reports whether the object was replaced or deleted since it was read; newer data is on
// its way.
func Stale(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsInvalid(err) &&
		slices.ContainsFunc(answers.Details(err).Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}

// LocateLive returns where the server has a child.
func LocateLive(l *child.Live) kube.Location { return Locate(l.Kind, l.Object.Key()) }

// Locate returns where the server has an object of that name.
func Locate(kind kind.Kind, name types.NamespacedName) kube.Location {
	return kube.Location{Resource: kind.Resource, Namespace: name.Namespace, Name: name.Name}
}

// noteDeletion has the cache know what the server has accepted to delete.
func (c *Controller) noteDeletion(l *child.Live) {
	if cache := c.Sources[l.Kind.GroupKind()].For(l.Object.Namespace()); cache != nil {
		cache.Deleting(l.Object.Key(), l.Object.UID())
	}
}
