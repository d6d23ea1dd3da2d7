package render

import (
	"fmt"
	"maps"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// view is what one execution sees: the root of its data and the maps with a
// closed set of keys below. They are parts of it, and it of exec, so that
// making it allocates nothing.
type view struct {
	program *Program
	in      *Input
	budget  *budget.Meter // of the exec

	root, controller, children, observed, related closed

	// object returns what .object is, in the one place where it is there.
	object func() (map[string]any, error)

	// What was asked for before: the parent and its metadata without the
	// fields that templates do not see, and live children and related
	// objects by name.
	parent, metadata      map[string]any
	known                 map[string]any // the object
	lists, relatedByEntry map[string]any
}

// open sets what the execution of a unit sees.
func (v *view) open(p *Program, u *unit, in *Input, b *budget.Meter) {
	v.program, v.in, v.budget = p, in, b
	v.root = closed{Keys: syntax.RootKeys(u.Purpose), view: v, load: (*view).top}
	v.controller = closed{Keys: syntax.ControllerKeys(), view: v, load: (*view).controllerName}
	v.children = closed{Keys: syntax.Keys{Prefix: ".children.", Names: p.names}, view: v, load: (*view).list}
	v.related = closed{Keys: syntax.Keys{Prefix: ".related.", Names: p.related}, view: v, load: (*view).relatedList}
	v.observed = closed{Keys: syntax.Keys{Prefix: ".observed.", Names: p.names}, view: v, load: (*view).list}
}

// top returns the value of a key at the root.
func (v *view) top(key string) (any, error) {
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
		return v.program.values, nil
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
	return normal(v.in.Parent[key])
}

// judged returns the object that a readyWhen judges.
func (v *view) judged() (any, error) {
	if v.known != nil {
		return v.known, nil
	}
	v.budget.Lend()
	object, err := v.object()
	v.budget.TakeBack()
	if err != nil {
		return nil, err
	}
	v.known = stripped(object)
	return v.known, nil
}

func (v *view) controllerName(string) (any, error) { return v.program.controller, nil }

// list returns the live children of a name.
func (v *view) list(name string) (any, error) { return v.listed(&v.lists, name, v.in.Observed) }

// relatedList returns the related objects of a name. What is not known is not empty.
func (v *view) relatedList(name string) (any, error) {
	if v.in.Related == nil {
		return nil, fmt.Errorf("%s is not known", syntax.RelatedName(name))
	}
	return v.listed(&v.relatedByEntry, name, v.in.Related)
}

// listed returns what find has under a name, and asks for it once.
func (v *view) listed(lists *map[string]any, name string, find func(string) ([]map[string]any, error)) (any, error) {
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
