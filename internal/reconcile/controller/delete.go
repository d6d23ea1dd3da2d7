package controller

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// Delete deletes a child and reports whether the API server accepted the request. If it returns false without a problem, the child has been
// replaced or, if d.Version is set, modified; a watch will report that.
func (c *Controller) Delete(ctx context.Context, l *child.Live, d request.Deletion) (accepted bool, issue *problem.Problem) {
	d.UID = l.Object.UID()
	err := c.Cluster.Delete(ctx, LocateLive(l), d)
	c.Meter.Write(record.Delete, AnswerOf(err))
	switch {
	case c.Overtaken(ctx, err, LocateLive(l), d.UID, d.Version):
		return false, nil
	case err != nil:
		return false, c.Rights.Refusal(err, "delete "+l.ID().String(), l.Object.Namespace(), l.Kind)
	}
	if c.dry == nil {
		c.noteDeletion(l)
	}
	return true, nil
}

// AnswerOf returns the result of a write for the metrics, given its error.
func AnswerOf(err error) record.Response {
	switch {
	case err == nil:
		return record.Accepted
	case Stale(err), apierrors.IsAlreadyExists(err):
		return record.Conflict
	case permissions.Denied(err):
		return record.Forbidden
	case problem.Unanswered(err):
		return record.NoAnswer
	}
	return record.Rejected
}

// Stale reports whether an error may mean that the object was replaced, deleted or modified since it was read. A conflict from an admission rule
// or with other field managers does not count.
func Stale(err error) bool {
	switch {
	case err == nil || request.AdmissionRefusal(err) != "":
		return false
	case apierrors.IsConflict(err):
		return !hasCause(err, func(cause metav1.StatusCause) bool { return cause.Type == metav1.CauseTypeFieldManagerConflict })
	case apierrors.IsInvalid(err):
		return hasCause(err, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
	}
	return false
}

func hasCause(err error, is func(metav1.StatusCause) bool) bool {
	return slices.ContainsFunc(request.Details(err).Causes, is)
}

// Overtaken reports whether a request failed because the object was deleted, replaced or, if version is set, modified in the meantime. It reads
// the object: a conflict about an unmodified object is a rejection. If the object cannot be read, the conflict counts as a rejection, too.
func (a *Access) Overtaken(ctx context.Context, err error, at request.Location, uid types.UID, version string) bool {
	if !Stale(err) {
		return false
	}
	now, failure := a.Cluster.Get(ctx, at)
	if failure != nil {
		return request.MissingObject(failure)
	}
	return now.UID() != uid || version != "" && now.ResourceVersion() != version
}

// LocateLive returns the location of a child.
func LocateLive(l *child.Live) request.Location { return Locate(l.Kind, l.Object.Key()) }

// Locate returns the location of an object.
func Locate(kind kind.Kind, name types.NamespacedName) request.Location {
	return request.Location{Resource: kind.Resource, Namespace: name.Namespace, Name: name.Name}
}

// noteDeletion records an accepted deletion in the cache.
func (c *Caches) noteDeletion(l *child.Live) {
	if cache := c.Sources[l.Kind.GroupKind()].For(l.Object.Namespace()); cache != nil {
		cache.Deleting(l.Object.Key(), l.Object.UID())
	}
}
