package related

import (
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Selected holds the objects that a parent selects with an entry of spec.related.
type Selected struct {
	entry     *Entry
	selection Selection
	objects   []*object.Object // shared by all templates of a reconciliation
	found     bool             // objects is set
}

// SelectFor computes what a parent selects with each entry. yielded returns the output of the select template of an
// entry; its error is reported as a template error. unreadable is an entry whose objects are not known, or nil.
func SelectFor(entries []*Entry, parent *object.Object, yielded func(entry string) ([]map[string]any, error)) (all []Selected, unreadable *Entry, issue *problem.Problem) {
	all = make([]Selected, len(entries))
	room := SelectionLimit(parent.Len())
	for i, e := range entries {
		all[i].entry = e
		switch e.State() {
		case Waiting, Unreadable:
			return all, e, nil
		case Absent:
			all[i].found = true // there are no objects
			continue
		case Known:
		}
		selects, err := yielded(e.Name)
		if err != nil {
			return all, nil, problem.FromTemplate(err)
		}
		if all[i].selection, issue = e.Choose(parent.Key(), selects, room); issue != nil {
			return all, nil, issue
		}
		if e.Select != "" {
			room -= all[i].selection.Size()
		}
	}
	return all, nil, nil
}

// Objects returns the objects as they were at the first call.
func (s *Selected) Objects() []*object.Object {
	if !s.found {
		s.objects, s.found = s.entry.Find(s.selection), true
	}
	return s.objects
}

// Found returns the result of Objects, or nil if it was not called.
func (s *Selected) Found() []*object.Object { return s.objects }
