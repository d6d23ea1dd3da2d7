package memserver

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/request"
)

// Delete deletes an object with the preconditions in d. Finalizers delay the deletion, also that of dependents that must be deleted
// first: see CompleteDeletions.
func (s *Server) Delete(_ context.Context, at request.Location, d request.Deletion) error {
	verb := "delete"
	if d.Propagation == metav1.DeletePropagationForeground {
		verb = "delete-foreground"
	}
	if err := s.before(verb, at); err != nil {
		return err
	}
	o := s.Objects[at]
	if o == nil {
		return nil
	}
	if o.GetUID() != d.UID || d.Version != "" && d.Version != o.GetResourceVersion() {
		return Conflict(at)
	}
	if !s.dry {
		s.End(at, d.Propagation)
	}
	return nil
}

// deleted reports whether an object is being deleted and has no finalizers left, so that Store removes it.
func deleted(o *unstructured.Unstructured) bool {
	return o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0
}

// End starts the deletion of an object, which must exist.
func (s *Server) End(at request.Location, propagation metav1.DeletionPropagation) {
	next := s.Objects[at].DeepCopy()
	if propagation == metav1.DeletePropagationForeground && !slices.Contains(next.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		next.SetFinalizers(append(next.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
	if next.GetDeletionTimestamp() == nil {
		now := metav1.NewTime(s.Clock.Now())
		next.SetDeletionTimestamp(&now)
	}
	s.Store(at, next)
}

// CompleteDeletions completes the foreground deletion of objects without blocking dependents. It reports whether anything has
// changed.
func (s *Server) CompleteDeletions() bool {
	before := s.Version
	for _, at := range s.sorted() {
		o := s.Objects[at]
		if o == nil {
			continue // already removed
		}
		if slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents) && !s.blocks(o.GetUID()) {
			next := o.DeepCopy()
			next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerDeleteDependents }))
			s.Store(at, next)
		}
	}
	return s.Version != before
}

// CollectGarbage runs the garbage collector once: it deletes objects whose owners do not exist, and completes foreground
// deletions. It reports whether anything has changed.
func (s *Server) CollectGarbage() bool {
	before := s.Version
	s.deleteOrphans()
	s.CompleteDeletions()
	return s.Version != before
}

// deleteOrphans deletes objects whose owners do not exist.
func (s *Server) deleteOrphans() {
	there := map[types.UID]bool{}
	for _, o := range s.Objects {
		there[o.GetUID()] = true
	}
	for _, at := range s.sorted() {
		o := s.Objects[at]
		if o == nil {
			continue // already removed
		}
		owners := o.GetOwnerReferences()
		orphaned := len(owners) > 0 && !slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool { return there[r.UID] })
		if orphaned && o.GetDeletionTimestamp() == nil {
			s.End(at, metav1.DeletePropagationBackground)
		}
	}
}

// blocks deletes the dependents that block the deletion of their owner, and reports whether there are any.
func (s *Server) blocks(owner types.UID) bool {
	blocked := false
	for _, at := range s.sorted() {
		o := s.Objects[at]
		if o == nil {
			continue // already removed
		}
		for _, r := range o.GetOwnerReferences() {
			if r.UID == owner && r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion {
				blocked = true
				if o.GetDeletionTimestamp() == nil {
					s.End(at, metav1.DeletePropagationForeground)
				}
			}
		}
	}
	return blocked
}

// Remove removes an object, even if it has finalizers.
func (s *Server) Remove(at request.Location) {
	if before := s.Objects[at]; before != nil {
		delete(s.Objects, at)
		s.Version++
		s.log = append(s.log, change{at: at, before: before, version: s.Version})
	}
}
