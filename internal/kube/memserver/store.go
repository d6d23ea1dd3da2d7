package memserver

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/request"
)

// change is a write.
type change struct {
	at            request.Location
	before, after *unstructured.Unstructured // nil if the object does not exist
	version       int
}

// NewObject returns an object that has only a name and a UID. It is not stored.
func (s *Server) NewObject(at request.Location, content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": content["apiVersion"], "kind": content["kind"]}}
	o.SetNamespace(at.Namespace)
	o.SetName(at.Name)
	o.SetUID(types.UID(fmt.Sprintf("uid-%s-%d", at.Name, s.Version)))
	return o
}

// Store stores an object with a new resource version if it has changed, and returns a copy. It removes an object that is deleted.
// In a dry run, it stores nothing, and the object keeps its resource version.
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
	if s.dry {
		return o.DeepCopy()
	}
	s.Version++
	o.SetResourceVersion(strconv.Itoa(s.Version))
	s.Objects[at] = o
	if before != nil && deleted(o) {
		delete(s.Objects, at)
		s.log = append(s.log, change{at: at, before: before, version: s.Version})
	} else {
		s.log = append(s.log, change{at: at, before: before, after: o, version: s.Version})
	}
	return o.DeepCopy()
}

// specOf returns the part of an object whose changes increase its generation.
func specOf(o *unstructured.Unstructured) map[string]any {
	out := maps.Clone(o.Object)
	delete(out, "metadata")
	delete(out, "status")
	return out
}

// sorted returns the locations of all objects, sorted.
func (s *Server) sorted() []request.Location {
	return slices.SortedFunc(maps.Keys(s.Objects), func(a, b request.Location) int {
		return cmp.Or(strings.Compare(a.Resource.String(), b.Resource.String()), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}
