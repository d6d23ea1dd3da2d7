package data

import (
	"fmt"
	"iter"
	"maps"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Fixed is what templates see alike whatever the input is. It must not change while it is in use.
type Fixed struct {
	// Controller is what .controller.name yields.
	Controller string
	// Values is what .values yields.
	Values map[string]any
	// Children and Related are the names below .children and .observed, and below .related, sorted.
	Children, Related []string
}

// Input is what templates see of the input of a pass.
type Input struct {
	// Parent is the parent object.
	Parent map[string]any
	// Observed and Related return objects by name. They are called when a template reads these, at most once
	// for each name. No function for Observed is for no objects, none for Related is for not knowing them.
	Observed, Related func(name string) ([]map[string]any, error)
}

// View is what one execution sees: the root of its data and the maps with a
// closed set of keys below. They are parts of it, and it of what executes, so that
// making it allocates nothing; so it has all of them as fields. It is not safe for concurrent use, and the zero View is to be opened.
type View struct {
	// Root is the dot of a template at its beginning.
	Root Closed
	// Object returns what .object is, in the one place where it is there.
	Object func() (map[string]any, error)

	fixed  *Fixed
	in     Input
	budget *budget.Meter

	controller, children, observed, related Closed

	// What was asked for before: the parent and its metadata without the
	// fields that templates do not see, and live children and related
	// objects by name.
	parent, metadata      map[string]any
	known                 map[string]any // the object
	lists, relatedByEntry map[string]any
}

// Open sets what the execution of a template of a purpose sees. What it reads is paid for from b.
func (v *View) Open(fixed *Fixed, in Input, purpose syntax.Purpose, b *budget.Meter) {
	v.fixed, v.in, v.budget = fixed, in, b
	v.Root = Closed{Keys: syntax.RootKeys(purpose), view: v, load: (*View).top}
	v.controller = Closed{Keys: syntax.ControllerKeys(), view: v, load: (*View).controllerName}
	v.children = Closed{Keys: syntax.Keys{Prefix: ".children.", Names: fixed.Children}, view: v, load: (*View).list}
	v.related = Closed{Keys: syntax.Keys{Prefix: ".related.", Names: fixed.Related}, view: v, load: (*View).relatedList}
	v.observed = Closed{Keys: syntax.Keys{Prefix: ".observed.", Names: fixed.Children}, view: v, load: (*View).list}
}

// top returns the value of a key at the root.
func (v *View) top(key string) (any, error) {
	switch key {
	case "parent":
		if v.parent == nil {
			v.parent = stripped(v.in.Parent)
		}
		return v.parent, nil
	case "metadata":
		if metadata, isMap := v.in.Parent[key].(map[string]any); isMap {
			if v.metadata == nil {
				v.metadata = strippedMetadata(metadata)
			}
			return v.metadata, nil
		}
	case "values":
		return v.fixed.Values, nil
	case "controller":
		return &v.controller, nil
	case "children":
		return &v.children, nil
	case "observed":
		return &v.observed, nil
	case "related":
		return &v.related, nil
	case "object":
		return v.judged()
	}
	return Normal(v.in.Parent[key])
}

// judged returns the object that a readyWhen judges.
func (v *View) judged() (any, error) {
	if v.known != nil {
		return v.known, nil
	}
	v.budget.Lend()
	object, err := v.Object()
	v.budget.TakeBack()
	if err != nil {
		return nil, err
	}
	v.known = stripped(object)
	return v.known, nil
}

func (v *View) controllerName(string) (any, error) { return v.fixed.Controller, nil }

// list returns the live children of a name.
func (v *View) list(name string) (any, error) { return v.listed(&v.lists, name, v.in.Observed) }

// relatedList returns the related objects of a name. What is not known is not empty.
func (v *View) relatedList(name string) (any, error) {
	if v.in.Related == nil {
		return nil, fmt.Errorf("%s is not known", syntax.RelatedName(name))
	}
	return v.listed(&v.relatedByEntry, name, v.in.Related)
}

// listed returns what find has under a name, and asks for it once.
func (v *View) listed(lists *map[string]any, name string, find func(string) ([]map[string]any, error)) (any, error) {
	if list, known := (*lists)[name]; known {
		return list, nil
	}
	var objects []map[string]any
	if find != nil {
		var err error
		v.budget.Lend()
		objects, err = find(name)
		v.budget.TakeBack()
		if err != nil {
			return nil, err
		}
	}
	if err := v.budget.Charge(budget.CostItem * len(objects)); err != nil {
		return nil, err
	}
	list := make([]any, len(objects))
	for i, object := range objects {
		list[i] = stripped(object)
	}
	if *lists == nil {
		*lists = map[string]any{}
	}
	(*lists)[name] = list
	return list, nil
}

// Lists returns how many lists of objects were asked for.
func (v *View) Lists() int { return len(v.lists) + len(v.relatedByEntry) }

// Others yields the objects of each entry that were asked for, but for the children of the template of that name.
func (v *View) Others(own string) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for name, list := range v.lists {
			if objects, _ := list.([]any); syntax.ChildName(name) != own && !yield(objects) {
				return
			}
		}
		for _, list := range v.relatedByEntry {
			if objects, _ := list.([]any); !yield(objects) {
				return
			}
		}
	}
}

// stripped returns the object without the two fields that change although
// nothing did. It shares everything else with the object, and is the object
// itself if it has neither.
func stripped(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	if !restless(metadata) {
		return object
	}
	object = maps.Clone(object)
	object["metadata"] = strippedMetadata(metadata)
	return object
}

// strippedMetadata does so for the metadata of an object.
func strippedMetadata(metadata map[string]any) map[string]any {
	if !restless(metadata) {
		return metadata
	}
	metadata = maps.Clone(metadata)
	delete(metadata, "managedFields")
	delete(metadata, "resourceVersion")
	return metadata
}

// restless reports whether metadata has one of those fields.
func restless(metadata map[string]any) bool {
	_, managed := metadata["managedFields"]
	_, version := metadata["resourceVersion"]
	return managed || version
}
