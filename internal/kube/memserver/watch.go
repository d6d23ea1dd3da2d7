package memserver

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/templater-dev/templater/internal/kube/watch"
)

// Fill sends all objects to a cache, like a list. It returns the position from which DeliverChanges continues.
func (s *Server) Fill(want watch.Want, cache *watch.Cache) (position int, err error) {
	var list []any
	for _, at := range s.sorted() {
		if o := s.Objects[at]; at.Resource == want.Resource && matches(want, o) {
			list = append(list, pack(o))
		}
	}
	return len(s.log), cache.Replace(list, strconv.Itoa(s.Version))
}

// DeliverChanges sends all changes since a position to a cache, like a watch, and returns the next position.
func (s *Server) DeliverChanges(want watch.Want, cache *watch.Cache, since int) (position int, err error) {
	for _, each := range s.log[since:] {
		if each.at.Resource != want.Resource {
			continue
		}
		if err := bring(want, cache, each); err != nil {
			return since, err
		}
	}
	return len(s.log), nil
}

func bring(want watch.Want, cache *watch.Cache, each change) error {
	switch {
	case matches(want, each.after):
		return cache.Update(pack(each.after))
	case matches(want, each.before):
		gone := each.before.DeepCopy()
		gone.SetResourceVersion(strconv.Itoa(each.version))
		return cache.Delete(pack(gone))
	}
	return nil
}

// matches reports whether an object matches the want.
func matches(want watch.Want, o *unstructured.Unstructured) bool {
	return o != nil && (want.Namespace == "" || want.Namespace == o.GetNamespace()) && selected(o, want.Labels, want.Fields)
}

// selected reports whether an object matches both selectors.
func selected(o *unstructured.Unstructured, labelSelector, fieldSelector string) bool {
	byLabel, err := labels.Parse(labelSelector)
	if err != nil {
		return false
	}
	byField, err := fields.ParseSelector(fieldSelector)
	return err == nil && byLabel.Matches(labels.Set(o.GetLabels())) && byField.Matches(Fields(o.Object))
}

// Fields are the fields of an object for field selectors, by paths such as status.phase.
type Fields map[string]any

// Has reports whether there is a value at a path.
func (f Fields) Has(path string) bool { return f.Get(path) != "" }

// Get returns the value at a path as text, or "".
func (f Fields) Get(path string) string {
	value, _, err := unstructured.NestedFieldNoCopy(f, strings.Split(path, ".")...)
	if value == nil || err != nil {
		return ""
	}
	return fmt.Sprint(value)
}
