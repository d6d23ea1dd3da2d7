package cases

import (
	"fmt"
	"slices"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/kube/memserver"
)

// happen applies the changes of a step.
func (w *world) happen(s Step) error {
	after, _ := time.ParseDuration(s.After) // already validated
	w.state.Now = w.state.Now.Add(after)
	if s.Parent != nil {
		before := w.state.Parent
		w.state.Parent = memserver.Patch(before, s.Parent)
		simulate.CountGeneration(before, w.state.Parent)
	}
	if s.Delete {
		w.state = w.state.Deleted()
	}
	if s.Logs != nil {
		w.state.Logs = s.Logs
	}
	for _, o := range s.Observe {
		if err := w.put(&w.state.Objects, o); err != nil {
			return fmt.Errorf("observe: %w", err)
		}
	}
	for _, o := range s.Related {
		if err := w.put(&w.state.Related, o); err != nil {
			return fmt.Errorf("related: %w", err)
		}
	}
	for _, o := range s.Remove {
		id, err := w.id(o)
		if err != nil {
			return fmt.Errorf("remove: %w", err)
		}
		before := len(w.state.Objects) + len(w.state.Related)
		gone := func(there map[string]any) bool { other, _ := w.id(there); return other == id }
		w.state.Objects = slices.DeleteFunc(slices.Clone(w.state.Objects), gone)
		w.state.Related = slices.DeleteFunc(slices.Clone(w.state.Related), gone)
		if len(w.state.Objects)+len(w.state.Related) == before {
			return fmt.Errorf("remove: no %s%s", id, w.similar(id, slices.Concat(w.state.Objects, w.state.Related)))
		}
	}
	return nil
}

// put merges an object into the existing one, or adds it.
func (w *world) put(all *[]map[string]any, o map[string]any) error {
	id, err := w.id(o)
	if err != nil {
		return err
	}
	*all = slices.Clone(*all)
	for i, there := range *all {
		if other, _ := w.id(there); other == id {
			(*all)[i] = memserver.Patch(there, o)
			return nil
		}
	}
	*all = append(*all, o)
	return nil
}

// checkObserved returns an error if the step adds an object that nothing uses: no child template
// renders it, it does not name its child template, and no template can read it.
func (w *world) checkObserved(s Step, before []map[string]any, result simulate.Result) error {
	var children []map[string]any
	for _, c := range result.Children {
		if children = append(children, c.Wanted); c.Wanted == nil {
			children[len(children)-1] = c.Live
		}
	}
	for _, o := range s.Observe {
		id, _ := w.id(o)                           // already validated
		left := w.find(id, w.state.Objects) == nil // deleted, as only children are
		if left || saysWhose(o) || w.find(id, before) != nil || w.find(id, children) != nil {
			continue
		}
		if !w.isRelated(id, result) {
			return fmt.Errorf("observe: no child template renders %s, and neither the label %s nor an owner reference names its child template; put objects that are only read into related%s", id, v1.LabelChild, w.similar(id, children))
		}
	}
	return nil
}

// isRelated reports whether the templates can read an object through spec.related.
func (w *world) isRelated(of id, result simulate.Result) bool {
	for _, objects := range result.Related {
		for _, o := range objects {
			if other, _ := w.id(o.Content()); other == of {
				return true
			}
		}
	}
	return false
}
