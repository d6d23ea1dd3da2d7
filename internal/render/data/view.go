package data

import (
	"fmt"
	"iter"
	"maps"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Fixed is the part of the data that does not depend on the input. It must not change while it is in use.
type Fixed struct {
	// Controller is the value of .controller.name.
	Controller string
	// Values is the value of .values.
	Values map[string]any
	// Children and Related are the names below .children and .observed, and below .related, sorted.
	Children, Related []string
}

// Input is the part of the data that a reconciliation provides.
type Input struct {
	// Parent is the parent object.
	Parent map[string]any
	// Observed and Related return objects by name. They are called when a template reads them, at most once per name. If Observed is
	// nil, there are no objects; if Related is nil, they are not known.
	Observed, Related func(name string) ([]map[string]any, error)
}

// View is the data of one execution: the root, and the maps with fixed keys below it. They are fields of the View, which is a field of
// the exec, so that creating them allocates nothing. It is not safe for concurrent use. Call Open before using a zero View.
type View struct {
	// Root is the initial dot of a template.
	Root Closed
	// Object returns the value of .object, which only readyWhen has.
	Object func() (map[string]any, error)

	fixed  *Fixed
	in     Input
	budget *budget.Meter

	controller, children, observed, related Closed

	// Cached results: the parent and its metadata without the fields that templates do not see, and live children and related objects
	// by name.
	parent, metadata      map[string]any
	known                 map[string]any // the object
	lists, relatedByEntry map[string]any
}

// Open sets the data for the execution of a template of this purpose. Reading it is charged to b.
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

// judged returns the object that a readyWhen evaluates.
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

// list returns the live children of a child template.
func (v *View) list(name string) (any, error) { return v.listed(&v.lists, name, v.in.Observed) }

// relatedList returns the related objects of an entry. If they are not known, it returns an error and not an empty list.
func (v *View) relatedList(name string) (any, error) {
	if v.in.Related == nil {
		return nil, fmt.Errorf("%s is not known", syntax.RelatedName(name))
	}
	return v.listed(&v.relatedByEntry, name, v.in.Related)
}

// listed returns the result of find for a name, which it calls once per name.
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

// Lists returns the number of lists of objects that were read.
func (v *View) Lists() int { return len(v.lists) + len(v.relatedByEntry) }

// Others yields the objects of each entry that were read, except the children of the template of this name.
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

// stripped returns the object without the two fields that change although nothing else did. It shares everything else with the object,
// and returns the object itself if it has neither.
func stripped(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	if !restless(metadata) {
		return object
	}
	object = maps.Clone(object)
	object["metadata"] = strippedMetadata(metadata)
	return object
}

// strippedMetadata does the same for the metadata of an object.
func strippedMetadata(metadata map[string]any) map[string]any {
	if !restless(metadata) {
		return metadata
	}
	metadata = maps.Clone(metadata)
	delete(metadata, "managedFields")
	delete(metadata, "resourceVersion")
	return metadata
}

// restless reports whether metadata has one of these fields.
func restless(metadata map[string]any) bool {
	_, managed := metadata["managedFields"]
	_, version := metadata["resourceVersion"]
	return managed || version
}
