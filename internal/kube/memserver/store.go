package memserver

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/request"
)

// change is one write.
type change struct {
	at            request.Location
	before, after *unstructured.Unstructured // nil where there is none
	version       int
}

// NewObject returns an object that has a name and a UID and nothing else. It is not stored.
func (s *Server) NewObject(at request.Location, content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": content["apiVersion"], "kind": content["kind"]}}
	o.SetNamespace(at.Namespace)
	o.SetName(at.Name)
	o.SetUID(types.UID(fmt.Sprintf("uid-%s-%d", at.Name, s.Version)))
	return o
}

// Store keeps an object at a new resource version if it has changed, and returns a copy. An object that is being deleted and has no
// finalizers is removed.
func (s *Server) Store(at request.Location, o *unstructured.Unstructured) *unstructured.Unstructured {
	before := s.Objects[at]
	generates := s.Kind(at.Resource.GroupResource()).Custom
	if before != nil && before != o {
		if generates && !reflect.DeepEqual(specOf(before), specOf(o)) {
			o.SetGeneration(before.GetGeneration() + 1)
		}
		o.SetResourceVersion(before.GetResourceVersion())
		if reflect.DeepEqual(before.Object, o.Object) {
			return o.DeepCopy()
		}
	} else if generates && o.GetGeneration() == 0 {
		o.SetGeneration(1)
	}
	s.Version++
	o.SetResourceVersion(strconv.Itoa(s.Version))
	s.Objects[at] = o
	if before != nil && o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		delete(s.Objects, at)
		s.log = append(s.log, change{at: at, before: before, version: s.Version})
	} else {
		s.log = append(s.log, change{at: at, before: before, after: o, version: s.Version})
	}
	return o.DeepCopy()
}

// specOf returns the part of an object whose changes count as a generation.
func specOf(o *unstructured.Unstructured) map[string]any {
	out := maps.Clone(o.Object)
	delete(out, "metadata")
	delete(out, "status")
	return out
}

// Remove removes an object, whatever finalizers it has.
func (s *Server) Remove(at request.Location) {
	if before := s.Objects[at]; before != nil {
		delete(s.Objects, at)
		s.Version++
		s.log = append(s.log, change{at: at, before: before, version: s.Version})
	}
}

// sorted returns where all objects are, in order.
func (s *Server) sorted() []request.Location {
	return slices.SortedFunc(maps.Keys(s.Objects), func(a, b request.Location) int {
		return cmp.Or(strings.Compare(a.Resource.String(), b.Resource.String()), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

// End deletes an object that exists.
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

// CollectGarbage does one round of the garbage collector: it deletes objects none of whose owners exists, and completes deletions in the
// foreground. It reports whether there was anything to do.
func (s *Server) CollectGarbage() bool {
	before := s.Version
	s.deleteOrphans()
	s.CompleteDeletions()
	return s.Version != before
}

// deleteOrphans deletes objects none of whose owners exists.
func (s *Server) deleteOrphans() {
	there := map[types.UID]bool{}
	for _, o := range s.Objects {
		there[o.GetUID()] = true
	}
	for _, at := range s.sorted() {
		o := s.Objects[at]
		if o == nil {
			continue // it was just removed
		}
		owners := o.GetOwnerReferences()
		orphaned := len(owners) > 0 && !slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool { return there[r.UID] })
		if orphaned && o.GetDeletionTimestamp() == nil {
			s.End(at, metav1.DeletePropagationBackground)
		}
	}
}

// CompleteDeletions completes deletions in the foreground whose dependents are deleted. It reports whether there was anything to do.
func (s *Server) CompleteDeletions() bool {
	before := s.Version
	for _, at := range s.sorted() {
		o := s.Objects[at]
		if o == nil {
			continue // it was just removed
		}
		if slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents) && !s.blocks(o.GetUID()) {
			next := o.DeepCopy()
			next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerDeleteDependents }))
			s.Store(at, next)
		}
	}
	return s.Version != before
}

// blocks deletes the dependents that block the deletion of their owner, and reports whether there are any.
func (s *Server) blocks(owner types.UID) bool {
	blocked := false
	for _, at := range s.sorted() {
		o := s.Objects[at]
		if o == nil {
			continue // it was just removed
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
