package cases

import (
	"fmt"
	"slices"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/kube/memserver"
)

// apply applies the changes of a step.
func (f *fixture) apply(s Step) error {
	after, _ := time.ParseDuration(s.After) // already validated
	f.state.Now = f.state.Now.Add(after)
	if s.Parent != nil {
		before := f.state.Parent
		f.state.Parent = memserver.Patch(before, s.Parent)
		simulate.CountGeneration(before, f.state.Parent)
	}
	if s.Delete {
		f.state = f.state.Deleted()
	}
	if s.Logs != nil {
		f.state.Logs = s.Logs
	}
	for _, o := range s.Observe {
		if err := f.put(&f.state.Objects, o); err != nil {
			return fmt.Errorf("observe: %w", err)
		}
	}
	for _, o := range s.Related {
		if err := f.put(&f.state.Related, o); err != nil {
			return fmt.Errorf("related: %w", err)
		}
	}
	for _, o := range s.Remove {
		id, err := f.id(o)
		if err != nil {
			return fmt.Errorf("remove: %w", err)
		}
		before := len(f.state.Objects) + len(f.state.Related)
		gone := func(there map[string]any) bool { other, _ := f.id(there); return other == id }
		f.state.Objects = slices.DeleteFunc(slices.Clone(f.state.Objects), gone)
		f.state.Related = slices.DeleteFunc(slices.Clone(f.state.Related), gone)
		if len(f.state.Objects)+len(f.state.Related) == before {
			return fmt.Errorf("remove: no %s%s", id, f.similar(id, slices.Concat(f.state.Objects, f.state.Related)))
		}
	}
	return nil
}

// put merges an object into the existing one, or adds it.
func (f *fixture) put(all *[]map[string]any, o map[string]any) error {
	id, err := f.id(o)
	if err != nil {
		return err
	}
	*all = slices.Clone(*all)
	for i, there := range *all {
		if other, _ := f.id(there); other == id {
			(*all)[i] = memserver.Patch(there, o)
			return nil
		}
	}
	*all = append(*all, o)
	return nil
}

// checkObserved returns an error if the step adds an object that nothing uses: no child template
// renders it, it does not name its child template, and no template can read it.
func (f *fixture) checkObserved(s Step, before []map[string]any, result simulate.Result) error {
	var children []map[string]any
	for _, c := range result.Children {
		if children = append(children, c.Wanted); c.Wanted == nil {
			children[len(children)-1] = c.Live
		}
	}
	for _, o := range s.Observe {
		id, _ := f.id(o)                           // already validated
		left := f.find(id, f.state.Objects) == nil // deleted, as only children are
		if left || saysWhose(o) || f.find(id, before) != nil || f.find(id, children) != nil {
			continue
		}
		if !f.isRelated(id, result) {
			return fmt.Errorf("observe: no child template renders %s, and neither the label %s nor an owner reference names its child template; put objects that are only read into related%s", id, v1.LabelChild, f.similar(id, children))
		}
	}
	return nil
}

// isRelated reports whether the templates can read an object through spec.related.
func (f *fixture) isRelated(of id, result simulate.Result) bool {
	for _, objects := range result.Related {
		for _, o := range objects {
			if other, _ := f.id(o.Content()); other == of {
				return true
			}
		}
	}
	return false
}
