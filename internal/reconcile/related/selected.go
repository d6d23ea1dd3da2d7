package related

import (
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Selected is what a parent sees by an entry of spec.related.
type Selected struct {
	entry     *Entry
	selection Selection
	objects   []*object.Object // the same for all templates of a reconciliation
	found     bool             // whether they were looked up
}

// SelectFor finds out what a parent sees by each entry. yielded returns what the select template of an entry yields; an error of it is a problem
// of the template. unreadable is an entry whose objects are not known, nil = there is none.
func SelectFor(entries []*Entry, parent *object.Object, yielded func(entry string) ([]map[string]any, error)) (all []Selected, unreadable *Entry, issue *problem.Problem) {
	all = make([]Selected, len(entries))
	room := SelectionLimit(parent.Len())
	for i, e := range entries {
		all[i].entry = e
		switch e.State() {
		case Waiting, Unreadable:
			return all, e, nil
		case Absent:
			all[i].found = true // there are none
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

// Objects returns the objects, as they were at the first call.
func (s *Selected) Objects() []*object.Object {
	if !s.found {
		s.objects, s.found = s.entry.Find(s.selection), true
	}
	return s.objects
}

// Found returns the objects that Objects has looked up; nothing if it was not called.
func (s *Selected) Found() []*object.Object { return s.objects }
